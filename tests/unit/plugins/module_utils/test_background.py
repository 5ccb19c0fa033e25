# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Work in the background says how far it is, how it ended, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from ansible_collections.samewire.vllm.plugins.module_utils import _background
from tests.unit.waiting import until


def test_progress_and_end(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    def work(say: Callable[[str], None]) -> str:
        say("half of it")
        gate.read_text()
        say("all of it")
        return ""

    job = _background.begin(work)
    until(lambda: _background.watch(job, 0)["progress"] == "half of it")
    assert _background.watch(job, 0)["over"] is False
    gate.write_text("")
    assert _background.watch(job, 30) == {"over": True, "problem": "", "progress": "all of it"}
    assert not Path(job).exists()


def test_a_problem() -> None:
    job = _background.begin(lambda _: "the disk is full")
    seen = _background.watch(job, 30)
    assert seen == {"over": False, "problem": "the disk is full", "progress": ""}
    assert not Path(job).exists()


def test_work_that_is_killed() -> None:
    job = _background.begin(lambda _: os.kill(os.getpid(), signal.SIGKILL) or "")
    assert _background.watch(job, 30)["problem"] == (
        "the work in the background ended without a word; run again"
    )
    assert not Path(job).exists()
