# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What is to be seen of a container that downloads."""

from __future__ import annotations

from typing import Any

from ansible_collections.samewire.vllm.plugins.modules import hub_download
from tests.unit.modules import run_module


class Engine:
    def __init__(self, state: dict[str, Any] | None, *lines: str) -> None:
        self._state = state
        self._lines = list(lines)

    def container(self, name: str) -> dict[str, Any] | None:
        return {"State": self._state} if self._state else None

    def log_tail(self, name: str, lines: int) -> list[str]:
        return self._lines


def look(state: dict[str, Any] | None, *lines: str) -> tuple[Any, ...]:
    seen = hub_download.look(Engine(state, *lines), "pair-weights")  # type: ignore[arg-type]
    return seen["over"], seen["problem"], seen["progress"]


def test_a_container_that_runs() -> None:
    running = {"Status": "running", "ExitCode": 0}
    assert look(running, '{"progress": "p"}') == (False, "", "p")


def test_a_container_that_ended() -> None:
    assert look({"Status": "exited", "ExitCode": 0}, '{"progress": "p"}') == (True, "", "p")
    failed = {"Status": "exited", "ExitCode": 1}
    assert look(failed, '{"problem": "why"}') == (False, "why", "")


def test_no_container() -> None:
    assert look(None) == (False, "there is no container pair-weights", "")


def test_no_engine() -> None:
    done = run_module("hub_download", container="pair-weights", seconds=0)
    assert (done["over"], done["problem"][:24]) == (False, "Docker does not answer (")
