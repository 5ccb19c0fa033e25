# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What is shown of something long, and how it ends."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _following


def follow(
    *looks: Mapping[str, Any], pause: float = 10.0, stall: float = 900.0, **more: float
) -> tuple[dict[str, Any], list[str]]:
    """Follow looks given in advance, that many seconds apart; the last one repeats."""
    coming = itertools.chain(looks, itertools.repeat(looks[-1]))
    clock = itertools.count(0.0, pause)
    shown: list[str] = []
    result = _following.follow(
        lambda: {"over": False, "problem": "", "progress": "", **next(coming)},
        shown.append,
        lambda: next(clock),
        stall,
        **more,
    )
    return result, shown


def test_a_line_now_and_then_and_one_at_the_end() -> None:
    steps = [{"progress": f"{number} GB"} for number in range(1, 7)]
    result, shown = follow(*steps, {"progress": "done", "over": True})
    assert shown == ["1 GB (10 s)", "4 GB (40 s)", "done (70 s)"]
    assert (result["over"], result["seconds"]) == (True, 70.0)


def test_as_often_as_it_is_asked_for() -> None:
    steps = [{"progress": f"{number} GB"} for number in range(1, 4)]
    _, shown = follow(*steps, {"progress": "done", "over": True}, pause=1, every=1.0)
    assert shown == ["1 GB (1 s)", "2 GB (2 s)", "3 GB (3 s)", "done (4 s)"]


def test_a_problem_ends_it() -> None:
    result, shown = follow({"progress": "1 GB"}, {"problem": "the disk is full"})
    assert (result["problem"], shown) == ("the disk is full", ["1 GB (10 s)"])


def test_what_stands_still_is_given_up() -> None:
    result, _ = follow({"progress": "1 GB"}, {"progress": "2 GB"}, pause=50, stall=100)
    assert result["problem"] == "no progress for 150 s at: 2 GB"


def test_a_module_that_fails_is_handed_on() -> None:
    assert follow({"failed": True, "msg": "m"})[0]["msg"] == "m"


def carried(*answers: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]], list[str]]:
    """Return the result, what the module was asked, and what was shown."""
    coming, clock = iter(answers), itertools.count(0.0)
    asked: list[dict[str, Any]] = []
    shown: list[str] = []

    def call(**more: Any) -> Mapping[str, Any]:
        asked.append(more)
        return next(coming)

    result = _following.carry_through(call, "node1", shown.append, lambda: next(clock), 900.0)
    return result, asked, shown


def test_a_job_is_looked_at_until_it_is_over() -> None:
    goes_on = {"over": False, "problem": "", "progress": "1 GB"}
    over = {"over": True, "problem": "", "progress": "all", "changed": True}
    result, asked, shown = carried({"job": "/tmp/job"}, goes_on, over)
    assert asked == [{}, {"job": "/tmp/job"}, {"job": "/tmp/job"}]
    assert shown == ["node1: 1 GB (1 s)", "node1: all (2 s)"]
    assert (result["changed"], "failed" in result) == (True, False)


def test_what_needs_no_job_is_over_at_once() -> None:
    over = {"over": True, "problem": "", "changed": False}
    assert carried(over) == (over, [{}], [])


def test_a_problem_bears_the_name_of_the_host() -> None:
    at_once, _, _ = carried({"over": False, "problem": "no room"})
    later, _, _ = carried(
        {"job": "/tmp/job"}, {"over": False, "problem": "it broke off", "progress": ""}
    )
    assert (at_once["failed"], at_once["msg"]) == (True, "node1: no room")
    assert (later["failed"], later["msg"]) == (True, "node1: it broke off")
