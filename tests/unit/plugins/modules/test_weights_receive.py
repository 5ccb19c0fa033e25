# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Receiving from a real offer on this host, and what happens where the files are not the expected ones."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.modules import weights_receive
from tests.unit.modules import run_module

HERE = "127.0.0.1"
pytestmark = pytest.mark.skipif(shutil.which("rsync") is None, reason="rsync is not installed")
Receive = Callable[..., dict[str, Any]]


def entry(content: bytes) -> dict[str, Any]:
    return {"size": len(content), "hash": hashlib.sha256(content).hexdigest()}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source" / "model"
    (folder / "sub").mkdir(parents=True)
    (folder / "config.json").write_bytes(b"{}")
    (folder / "sub" / "a.bin").write_bytes(b"weights")
    (folder / "link.bin").symlink_to("sub/a.bin")
    (folder / "more.txt").write_text("not asked for")
    folder.chmod(0o750)
    return folder


FILES = {
    "config.json": entry(b"{}"),
    "sub/a.bin": entry(b"weights"),
    "link.bin": {"size": 0, "hash": "-> sub/a.bin"},
}


@pytest.fixture
def receive(source: Path, tmp_path: Path) -> Iterator[Receive]:
    """Receive into another folder, as the action does: start, and look until it is over."""
    offer = run_module(
        "weights_offer", address=HERE, path=str(source), peers=[HERE], password="right"
    )
    (tmp_path / "here").mkdir()

    def call(**more: Any) -> dict[str, Any]:
        given = {
            "path": str(tmp_path / "here" / "model"),
            "files": FILES,
            "source": "spark0",
            "source_address": HERE,
            "address": HERE,
            "port": offer["port"],
            "password": "right",
            "hashes": str(tmp_path / "own" / "hashes.json"),
            **more,
        }
        started = run_module("weights_receive", **given)
        seen = run_module("weights_receive", **given, job=started["job"], seconds=30)
        assert not Path(started["job"]).exists()
        return seen

    yield call
    run_module("weights_offer", end=offer["offer"])


def listed(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_a_model_arrives(receive: Receive, tmp_path: Path) -> None:
    seen = receive()
    assert (seen["over"], seen["problem"]) == (True, "")
    assert seen["progress"] == "received and verified 9 bytes of weights"
    model = tmp_path / "here" / "model"
    assert listed(tmp_path / "here") == [
        "model",
        "model/config.json",
        "model/link.bin",
        "model/sub",
        "model/sub/a.bin",
    ]
    assert model.stat().st_mode & 0o777 == 0o750
    assert (model / "link.bin").readlink() == Path("sub/a.bin")
    known = json.loads((tmp_path / "own" / "hashes.json").read_text())
    assert known[str(model / "config.json")][3] == FILES["config.json"]["hash"]


def test_what_is_there_is_replaced_and_its_neighbours_stay(
    receive: Receive, tmp_path: Path
) -> None:
    model = tmp_path / "here" / "model"
    model.mkdir()
    (model / "config.json").write_text("other")
    (model / "own.txt").write_text("own")
    seen = receive(files={"config.json": FILES["config.json"]})
    assert seen["over"] is True
    assert (model / "config.json").read_text() == "{}"
    assert listed(tmp_path / "here") == ["model", "model/config.json", "model/own.txt"]


def test_content_that_is_not_the_expected_takes_no_place(receive: Receive, tmp_path: Path) -> None:
    seen = receive(files={**FILES, "config.json": entry(b"[]")})
    expected, got = entry(b"[]")["hash"][:12], entry(b"{}")["hash"][:12]
    assert (seen["over"], seen["problem"]) == (
        False,
        f"config.json of {tmp_path}/here/model did not arrive as spark0 has it: expected 2 bytes with hash "
        f"{expected}, got 2 bytes with hash {got}; run again",
    )
    assert not (tmp_path / "here" / "model").exists()
    assert not (tmp_path / "here" / ".model.samewire" / "model" / "config.json").exists()


def test_an_offer_that_does_not_let_it_in(receive: Receive, tmp_path: Path) -> None:
    assert receive(password="wrong")["problem"] == (
        f"receiving {tmp_path}/here/model from spark0 at 127.0.0.1 broke off after 0 bytes of 9 bytes "
        "(@ERROR: auth failed on module weights); what has arrived is kept, run again"
    )


def test_leftovers_of_another_state_do_not_come_along(receive: Receive, tmp_path: Path) -> None:
    stage = tmp_path / "here" / ".model.samewire" / "model"
    stage.mkdir(parents=True)
    (stage / "old.bin").write_text("old")
    (stage / "config.json").write_text("{")
    assert receive()["over"] is True
    assert not (tmp_path / "here" / "model" / "old.bin").exists()
    assert (tmp_path / "here" / "model" / "config.json").read_text() == "{}"


def test_a_job_that_was_killed(receive: Receive, tmp_path: Path) -> None:
    job = tmp_path / "job"
    job.mkdir()
    seen = run_module(
        "weights_receive", path=str(tmp_path / "here" / "model"), files=FILES, job=str(job)
    )
    assert (seen["over"], seen["problem"]) == (
        False,
        f"receiving {tmp_path}/here/model ended without a word; what has arrived is kept, run again",
    )


def test_a_folder_that_may_not_be_written(source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    given = {"path": f"{tmp_path}/file/model", "files": FILES, "folder": True}
    assert weights_receive.work(given) == (
        f"{tmp_path}/file/model cannot be written ([Errno 20] Not a directory: "
        f"'{tmp_path}/file/.model.samewire'); what has arrived is kept, run again"
    )


@pytest.mark.parametrize(("files", "changed"), [(FILES, True), ({}, False)])
def test_check_mode_receives_nothing(tmp_path: Path, files: dict[str, Any], changed: bool) -> None:
    done = run_module("weights_receive", check=True, path=str(tmp_path / "model"), files=files)
    assert (done["changed"], listed(tmp_path)) == (changed, [])
