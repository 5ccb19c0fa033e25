# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What an offer lets others read, and that nothing of it stays."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.modules import weights_offer
from tests.unit.modules import run_module
from tests.unit.waiting import until

HERE = "127.0.0.1"
needs_rsync = pytest.mark.skipif(shutil.which("rsync") is None, reason="rsync is not installed")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    (tmp_path / "private").write_text("private")
    return tmp_path / "model"


@pytest.fixture
def offer(model: Path) -> Iterator[dict[str, Any]]:
    offered = run_module(
        "weights_offer", address=HERE, path=str(model), peers=[HERE], password="right"
    )
    yield offered
    run_module("weights_offer", end=offered["offer"])


def rsync(port: int, name: str, dest: Path, password: str = "right") -> tuple[int, str]:
    done = subprocess.run(
        ["rsync", "-a", f"rsync://samewire@{HERE}:{port}/weights/{name}", f"{dest}/"],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "RSYNC_PASSWORD": password},
    )
    return done.returncode, done.stderr


def answers(port: int) -> bool:
    try:
        with socket.create_connection((HERE, port), timeout=1):
            return True
    except OSError:
        return False


@needs_rsync
def test_the_model_can_be_read(offer: dict[str, Any], tmp_path: Path) -> None:
    assert rsync(offer["port"], "model", tmp_path / "got") == (0, "")
    assert (tmp_path / "got" / "model" / "config.json").read_text() == "{}"


@needs_rsync
def test_its_neighbours_cannot(offer: dict[str, Any], tmp_path: Path) -> None:
    code, said = rsync(offer["port"], "private", tmp_path / "got")
    assert code == 23
    assert "No such file" in said
    rsync(offer["port"], "", tmp_path / "all")
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == ["model"]


@needs_rsync
def test_not_without_the_password(offer: dict[str, Any], tmp_path: Path) -> None:
    code, said = rsync(offer["port"], "model", tmp_path / "got", password="wrong")
    assert code == 5
    assert "@ERROR: auth failed on module weights" in said


@needs_rsync
def test_not_from_another_address(model: Path, tmp_path: Path) -> None:
    offered = run_module(
        "weights_offer", address=HERE, path=str(model), peers=["127.0.0.2"], password="right"
    )
    code, said = rsync(offered["port"], "model", tmp_path / "got")
    run_module("weights_offer", end=offered["offer"])
    assert code == 5
    assert "@ERROR: Unknown module 'weights'" in said


def test_nothing_stays_of_an_offer(offer: dict[str, Any]) -> None:
    folder = Path(offer["offer"])
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == {
        "secrets": 0o600,
        "offered": 0o600,
        "rsyncd.conf": 0o600,
    }
    assert answers(offer["port"])
    run_module("weights_offer", end=offer["offer"])
    assert not folder.exists()
    until(lambda: not answers(offer["port"]))


def test_an_offer_that_nobody_takes_ends_by_itself(model: Path) -> None:
    offered = run_module(
        "weights_offer", address=HERE, path=str(model), peers=[HERE], password="p", idle=0
    )
    until(lambda: not Path(offered["offer"]).exists())


def test_an_address_that_is_not_the_hosts(model: Path) -> None:
    done = run_module("weights_offer", address="192.0.2.1", path=str(model), password="right")
    assert done["failed"] is True
    assert done["msg"] == (
        f"the weights in {model} cannot be offered on 192.0.2.1: [Errno 99] Cannot assign requested address "
        "(while attempting to bind on address ('192.0.2.1', 0))"
    )


def test_check_mode_offers_nothing(model: Path) -> None:
    done = run_module("weights_offer", check=True, address=HERE, path=str(model), password="p")
    assert (done["changed"], "port" in done) == (False, False)


def test_patterns_mean_the_name_as_it_is() -> None:
    assert weights_offer.offered("/models/a[1]*") == "/a\\[1\\]\\*\n/a\\[1\\]\\*/**\n"
