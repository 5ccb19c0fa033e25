# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""ansible-runner, really: events, exit codes, what is left behind, Ctrl-C."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from samewire.events import Progress
from samewire.exit_codes import ExitCode
from samewire.run import Request, run


def ignore(_progress: Progress, _event: dict[str, Any]) -> None:
    """Watch nothing."""


def test_a_run_leaves_nothing_behind(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    before = sorted(data.rglob("*"))
    # As when the console script is called by its path, with no virtual environment active.
    monkeypatch.setenv("PATH", os.defpath)
    ended = run(Request("done.yml", data / "hosts.yml"), data, ignore)
    assert ended.exit_code is ExitCode.DONE
    assert "TASK [Start one]" in ended.output
    assert ended.progress.artifacts["samewire_record"]["cluster"] == "example"
    assert sorted(data.rglob("*")) == before
    assert list(temporary.iterdir()) == []


def test_variables_reach_the_playbook(data: Path) -> None:
    request = Request("variables.yml", data / "hosts.yml", {"count": 3, "word": "a b"}, check=True)
    ended = run(request, data, ignore)
    assert ended.progress.findings == ("count 3, word 'a b', check mode True",)
    assert ended.exit_code is ExitCode.FAILED


def test_ctrl_c_ends_the_run_and_its_tasks(data: Path, tmp_path: Path) -> None:
    mark = tmp_path / "child"

    def interrupt(_progress: Progress, event: dict[str, Any]) -> None:
        if event["event"] == "runner_on_start":
            wait_for(lambda: mark.exists() and mark.read_text())
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    request = Request("long.yml", data / "hosts.yml", {"mark": str(mark)})
    ended = run(request, data, interrupt)
    assert ended.exit_code is ExitCode.INTERRUPTED
    assert signal.getsignal(signal.SIGINT) is before
    wait_for(lambda: not Path("/proc", mark.read_text().strip()).exists())


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
