# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""samewire diagnose: whatever is given is read, or refused in one sentence."""

from __future__ import annotations

import gzip
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from samewire import diagnose_command
from samewire.cli import app
from samewire.diagnose import DiagnoseError, diagnose
from samewire.events import Progress
from samewire.run import Ended
from samewire.survey import Survey

GLOO = "Gloo connectFullMesh failed ... SO_ERROR: Connection refused, remote=[127.0.0.1]:14215\n"


def primary(*paths: Path) -> str | None:
    found: str | None = diagnose(list(paths))["primary"]
    return found


def test_the_cause_its_remedy_and_its_lines(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    log.write_text(f"first\n{GLOO}EngineCore failed to start.\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["diagnose", str(log)])
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "Cause: Gloo resolved the host's own name to a loopback address and told it to the other ranks. "
        "(gloo_loopback_address, confidence high)",
        "Remedy: Set GLOO_SOCKET_IFNAME to the interconnect interface of each host, also in the Ray "
        "containers.",
        "Variable: GLOO_SOCKET_IFNAME",
        "See: https://github.com/pytorch/gloo/issues/223",
        f"  {log}:2: {GLOO.strip()}",
        "Also: The messages only report that something else failed before, here or on another host. "
        "(secondary_error, confidence high)",
        f"  {log}:3: EngineCore failed to start.",
    ]


def test_json_and_a_healthy_log(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    log.write_text("INFO:     Application startup complete.\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["diagnose", "--json", str(log)])
    assert (done.exit_code, json.loads(done.stdout)) == (
        0,
        {"schema": "samewire.diagnosis/1", "primary": None, "findings": []},
    )
    assert (
        CliRunner().invoke(app, ["diagnose", str(log)]).stdout == "No known fault in these logs.\n"
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    log = tmp_path / "a.log"
    log.write_text(f"größer\n{GLOO}", encoding=encoding)
    assert primary(log) == "gloo_loopback_address"


def test_packed_logs_folders_and_bundles(tmp_path: Path) -> None:
    folder = tmp_path / "bundle" / "hosts" / "spark0"
    folder.mkdir(parents=True)
    (folder / "vllm.log").write_text("nothing\n", encoding="utf-8")
    (folder / "facts.json").write_text(json.dumps({"log": GLOO}), encoding="utf-8")
    (folder / "core").write_bytes(b"\0\1")
    (folder / "empty.log").touch()
    assert primary(tmp_path / "bundle") is None
    packed = folder / "ray.log.gz"
    packed.write_bytes(gzip.compress(GLOO.encode()))
    assert primary(packed) == "gloo_loopback_address"
    assert primary(tmp_path / "bundle") == "gloo_loopback_address"
    bundle = tmp_path / "bundle.tar.gz"
    with tarfile.open(bundle, "w:gz") as made:
        made.add(tmp_path / "bundle", "bundle")
    found = diagnose([bundle])
    assert found["findings"][0]["evidence"][0]["file"] == f"{bundle}/bundle/hosts/spark0/ray.log.gz"


def test_bad_input(tmp_path: Path) -> None:
    missing, empty, binary = (tmp_path / name for name in ("missing", "empty", "binary"))
    empty.touch()
    binary.write_bytes(b"\x7fELF\0\0\0")
    torn = tmp_path / "torn.gz"
    torn.write_bytes(gzip.compress(GLOO.encode() * 1_000)[:60])
    hollow = tmp_path / "hollow"
    hollow.mkdir()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    bare = tmp_path / "bare.tar"
    with tarfile.open(bare, "w") as made:
        made.add(hollow, "hollow")
    assert refused(missing) == (
        f"{missing}: does not exist; give a log, a folder of logs or a .tar.gz bundle"
    )
    assert refused(empty) == f"{empty}: is empty; give a log that has lines"
    assert refused(binary) == f"{binary}: is binary; give a log, which is text"
    assert refused(torn) == (
        f"{torn}: is damaged (Compressed file ended before the end-of-stream marker was reached); "
        "fetch it again"
    )
    assert refused(hollow) == f"{hollow}: has no logs in it; give the folder that holds them"
    assert refused(pipe) == f"{pipe}: is no file; give a log, a folder of logs or a .tar.gz bundle"
    assert refused(bare) == f"{bare}: has no logs in it; give the bundle that a failed run wrote"


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "a.log"
    log.write_text(GLOO, encoding="utf-8")

    # Root may read everything, so the refusal is the system's in name only.
    def refuse(path: Path, mode: str = "r") -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    assert refused(log) == f"{log}: may not be read; run as a user who may, or copy it"


def test_a_refusal_is_one_line_and_exit_status_two(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["diagnose", "--json", str(tmp_path / "missing")])
    assert (done.exit_code, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


def refused(path: Path) -> str:
    with pytest.raises(DiagnoseError) as caught:
        diagnose([path])
    return str(caught.value)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Result]:
    """Diagnose a cluster whose playbook left an artifact, or none, and ended in some way."""

    def ask(artifacts: dict[str, Any], status: str, *arguments: str) -> Result:
        said = Survey(
            "pair", Ended(Progress(artifacts=artifacts), status, ""), 1.0, tmp_path / "log"
        )
        monkeypatch.setattr(diagnose_command, "survey", lambda *_: said)
        return CliRunner().invoke(app, ["diagnose", "-i", "lab", *arguments])

    return ask


MADE = {
    "samewire_diagnosis": {"report": ["node1: why", "All logs are in /b"], "diagnosis": {"a": 1}}
}


def test_the_logs_of_an_inventory(asked: Callable[..., Result]) -> None:
    done = asked(MADE, "successful")
    assert (done.exit_code, done.stdout) == (0, "node1: why\nAll logs are in /b\n")
    done = asked(MADE, "successful", "--json")
    assert json.loads(done.stdout) == {"a": 1}


def test_an_inventory_whose_hosts_say_nothing(asked: Callable[..., Result]) -> None:
    done = asked({}, "failed")
    assert (done.exit_code, done.stdout) == (3, "")
    assert done.stderr.startswith("Ansible ended without saying why.")


@pytest.mark.parametrize("arguments", [[], ["-i", "lab", "a.log"]])
def test_either_an_inventory_or_logs(arguments: list[str]) -> None:
    done = CliRunner().invoke(app, ["diagnose", *arguments])
    assert done.exit_code == 2
    assert "expected either --inventory or logs" in done.stderr
