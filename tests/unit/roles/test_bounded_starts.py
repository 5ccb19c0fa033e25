# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A server that ends again and again is started ever later, and at last no more."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

FOLDER = pathlib.Path(__file__).parents[3] / "roles/ray_node/files/node"


@pytest.fixture(scope="module")
def bounded() -> Any:
    spec = importlib.util.spec_from_file_location("bounded_starts", FOLDER / "bounded_starts.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pause_grows_to_its_bound_and_ends(bounded: Any) -> None:
    pauses = [bounded.pause([0.0] * count) for count in range(bounded.LIMIT + 2)]
    assert pauses == [0, 0, 10, 20, 40, 80, 160, 300, 300, 300, None, None]


def test_a_server_that_lasted_begins_anew(bounded: Any) -> None:
    assert bounded.series([1.0, 2.0], 2.0 + bounded.LASTING) == [1.0, 2.0]
    assert bounded.series([1.0, 2.0], 3.0 + bounded.LASTING) == []
    assert bounded.series([], 5.0) == []


def test_starts_are_counted(bounded: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "starts.json"
    bounded.restrain(path)
    bounded.restrain(path)
    assert len(json.loads(path.read_text())) == 2


@pytest.mark.parametrize("text", ["", "{}", "[null]", '"x"', "[1"])
def test_a_damaged_state_counts_nothing(bounded: Any, tmp_path: pathlib.Path, text: str) -> None:
    path = tmp_path / "starts.json"
    path.write_text(text)
    assert bounded.read(path) == []


def test_it_gives_up_until_it_is_stopped(bounded: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "starts.json"
    path.write_text(json.dumps([time.time() - 120] * bounded.LIMIT))
    program = (
        "import bounded_starts, pathlib; "
        f"bounded_starts.restrain(pathlib.Path({str(path)!r})); print('started')"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=FOLDER, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == (
            "samewire: gave up after 10 starts in 2 min, each of which ended; the log above says why, and "
            "samewire restart begins anew\n"
        )
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == ""
        assert process.wait(10) == 0
    assert not path.exists()
