# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A folder of logs becomes a diagnosis, a report and an archive."""

from __future__ import annotations

import json
import pathlib
import tarfile

from samewire.diagnose import diagnose
from tests.unit.modules import run_module

LINE = (
    "(autoscaler) Error: No available node types can fulfill resource request "
    "{'GPU': 1.0, 'node:10.1.230.180': 0.001}."
)


def test_the_cause_and_what_is_kept(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "20260101T000000Z"
    (folder / "node0").mkdir(parents=True)
    (folder / "node0/pair-vllm.log").write_text(f"healthy\n{LINE}\n")
    (folder / "node0/facts.json").write_text(json.dumps({"text": LINE}))
    failure = {"host": "node1", "task": "Wait", "message": "node1: too late"}
    made = run_module(
        "bundle_diagnosis", path=str(folder), failures=[failure], documents={"plan.json": {"a": 1}}
    )
    assert made["changed"] is False
    assert made["bundle"] == str(folder)
    assert made["diagnosis"]["primary"] == "node_ip_mismatch"
    evidence = made["diagnosis"]["findings"][0]["evidence"]
    assert [(each["file"], each["line"]) for each in evidence] == [("node0/pair-vllm.log", 2)]
    assert made["report"][-2:] == [
        "What failed: node1: too late",
        f"All logs are in {folder} and {folder}.tar.gz; samewire diagnose reads them.",
    ]
    assert json.loads((folder / "diagnosis.json").read_text()) == made["diagnosis"]
    assert json.loads((folder / "report.json").read_text()) == made["report"]
    archive = tmp_path / "20260101T000000Z.tar.gz"
    assert archive.stat().st_mode & 0o777 == 0o600
    with tarfile.open(archive) as bundle:
        names = {name.partition("/")[2] for name in bundle.getnames()}
    assert {"plan.json", "report.json", "node0/pair-vllm.log", "node1/failure.txt"} <= names
    assert diagnose([archive])["primary"] == "node_ip_mismatch"
    assert diagnose([folder])["primary"] == "node_ip_mismatch"


def test_what_docker_refuses_is_diagnosed_too(tmp_path: pathlib.Path) -> None:
    message = (
        'Error starting container: could not select device driver "" with capabilities: [[gpu]]'
    )
    failure = {"host": "node1", "task": "Run the Ray container", "message": message}
    made = run_module("bundle_diagnosis", path=str(tmp_path / "b"), failures=[failure])
    assert made["diagnosis"]["primary"] == "nvidia_container_toolkit_missing"
    assert made["report"][0].startswith("node1: ")


def test_a_log_of_something_else_is_kept_and_not_diagnosed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "b/node0").mkdir(parents=True)
    (tmp_path / "b/node0/pair-vllm.log").write_text(f"{LINE}\n")
    made = run_module("bundle_diagnosis", path=str(tmp_path / "b"), ignored=["*-vllm.log"])
    assert made["diagnosis"]["primary"] is None
    with tarfile.open(tmp_path / "b.tar.gz") as bundle:
        assert "b/node0/pair-vllm.log" in bundle.getnames()


def test_a_folder_that_cannot_be_written(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").touch()
    made = run_module("bundle_diagnosis", path=str(tmp_path / "file" / "b"))
    assert made["failed"] is True
    assert made["msg"].startswith(f"{tmp_path}/file/b: cannot be diagnosed: ")


def test_old_bundles_go(tmp_path: pathlib.Path) -> None:
    for day in (1, 2, 3):
        (tmp_path / f"2026010{day}T000000Z/node0").mkdir(parents=True)
        (tmp_path / f"2026010{day}T000000Z.tar.gz").touch()
    (tmp_path / "notes").mkdir()
    (tmp_path / "20260104T000000Z").mkdir()
    run_module("bundle_diagnosis", path=str(tmp_path / "20260104T000000Z"), keep=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "20260103T000000Z",
        "20260103T000000Z.tar.gz",
        "20260104T000000Z",
        "20260104T000000Z.tar.gz",
        "notes",
    ]
