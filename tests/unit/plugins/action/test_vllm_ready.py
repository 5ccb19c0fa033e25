# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The wait on the controller: what it shows, and when and with which words it ends."""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterator
from typing import Any

import pytest
from ansible.plugins.action import ActionBase

from ansible_collections.samewire.vllm.plugins.action import vllm_ready

LOOK = {
    "ready": False,
    "problem": "",
    "progress": "starting",
    "standing": "",
    "joined": False,
    "findings": [],
    "first_exception": "",
    "log": [],
}


class Run:
    """Runs the action on looks given in advance, each ten seconds after the one before."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shown: list[str] = []
        self.asked: list[tuple[str, int]] = []
        self._patch = monkeypatch

    def __call__(self, *looks: dict[str, Any], check: bool = False, **arguments: Any) -> Any:
        action = vllm_ready.ActionModule.__new__(vllm_ready.ActionModule)
        action._task = types.SimpleNamespace(
            check_mode=check, args={"container": "pair-vllm", "url": "u", **arguments}
        )
        coming = itertools.chain(looks, itertools.repeat(looks[-1] if looks else {}))
        clock = self._clock()

        def say(arguments: dict[str, Any], _task_vars: dict[str, Any]) -> dict[str, Any]:
            self.asked.append((arguments["known"], arguments["seconds"]))
            seen = {**LOOK, **next(coming)}
            news = seen["progress"] != arguments["known"]
            passed = [{"progress": seen["progress"], "ago": 0}] if news else []
            return {"passed": passed, **seen}

        self._patch.setattr(action, "module_result", say)
        self._patch.setattr(ActionBase, "run", lambda *_: {})
        self._patch.setattr(vllm_ready.time, "monotonic", lambda: next(clock))
        self._patch.setattr(vllm_ready.display, "display", self.shown.append)
        return action.run(task_vars={"inventory_hostname": "node0"})

    @staticmethod
    def _clock() -> Iterator[float]:
        return itertools.count(0.0, 10.0)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(monkeypatch)


def test_each_phase_is_shown_once(run: Run) -> None:
    result = run(
        {"progress": "connecting to Ray"},
        {"progress": "connecting to Ray"},
        {"progress": "loading weights 1/2", "joined": True},
        {"progress": "ready", "ready": True},
    )
    assert run.shown == [
        "node0: connecting to Ray (10 s)",
        "node0: loading weights 1/2 (30 s)",
        "node0: ready (40 s)",
    ]
    known = ["", "connecting to Ray", "connecting to Ray", "loading weights 1/2"]
    assert run.asked == list(zip(known, [3, 10, 10, 10], strict=True))
    assert (result["ready"], result["seconds"]) == (True, 40.0)
    assert "failed" not in result


def test_what_passed_during_a_look_is_shown_with_its_time(run: Run) -> None:
    steps = [{"progress": "loading", "ago": 7.2}, {"progress": "warming up", "ago": 2.4}]
    stands = {"progress": "warming up", "joined": True}
    result = run({**stands, "passed": steps}, stands, stall_timeout=100)
    assert run.shown == ["node0: loading (3 s)", "node0: warming up (8 s)"]
    # Since the step itself, not since the look.
    assert "no progress for 102 s at: warming up" in result["msg"]


def test_a_container_that_gave_up(run: Run) -> None:
    result = run({"problem": "container pair-vllm exited with code 1", "log": ["a", "b"]})
    assert result["failed"] is True
    assert result["msg"] == (
        "node0: vLLM does not start: container pair-vllm exited with code 1\n"
        "Its last lines (all: docker logs pair-vllm):\n  a\n  b"
    )


def test_the_cause_is_named_where_it_is_known(run: Run) -> None:
    finding = {
        "id": "node_ip_mismatch",
        "cause": "C",
        "remedy": "R",
        "evidence": [{"text": "line"}],
    }
    result = run({"problem": "P", "findings": [finding], "standing": "rank 0: joining the ranks"})
    assert result["msg"] == (
        "node0: vLLM does not start: P\nWhere the ranks stand: rank 0: joining the ranks\n"
        "Cause: C (node_ip_mismatch)\nRemedy: R\n  line"
    )


@pytest.mark.parametrize(("confidence", "seconds"), [("high", 40), ("low", 110)])
def test_a_fault_in_the_log_of_a_server_that_stands_still(
    run: Run, confidence: str, seconds: int
) -> None:
    finding = {"id": "i", "cause": "C", "remedy": "R", "evidence": [], "confidence": confidence}
    look = {"progress": "warming up", "joined": True, "findings": [finding]}
    result = run(look, stall_timeout=100)
    assert f"for {seconds} s" in result["msg"].splitlines()[0]


@pytest.mark.parametrize("known", [True, False])
def test_the_first_exception_is_shown_where_no_cause_is_known(run: Run, known: bool) -> None:
    finding = {"id": "secondary_error", "cause": "C", "remedy": "R", "evidence": []}
    look = {
        "problem": "P",
        "first_exception": "ValueError: x",
        "findings": [finding] if known else [],
    }
    assert (
        run(look)["msg"].splitlines()[-2 if not known else -1]
        == "The first exception: ValueError: x"
    )


def test_ranks_that_do_not_find_each_other_are_given_up_early(run: Run) -> None:
    result = run({"progress": "joining the ranks 1/2"}, stall_timeout=100)
    assert result["msg"].startswith(
        "node0: vLLM does not start: no progress for 30 s at: joining the ranks 1/2\n"
    )


def test_silence_while_loading_is_given_more_time(run: Run) -> None:
    result = run({"progress": "compiling", "joined": True}, stall_timeout=100)
    assert result["msg"].startswith(
        "node0: vLLM does not start: no progress for 110 s at: compiling\n"
    )


def test_the_time_is_up_although_something_moves(run: Run) -> None:
    steps = [{"progress": f"loading weights {n}/99", "joined": True} for n in range(20)]
    result = run(*steps, timeout=100)
    assert result["msg"].startswith(
        "node0: vLLM does not start: not ready after 100 s, at: loading weights 10/99\n"
    )


def test_nothing_is_waited_for_in_check_mode(run: Run) -> None:
    assert run(check=True) == {"changed": False, "ready": False}
