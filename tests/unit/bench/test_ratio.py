# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A ratio is that of medians, measured in turns, and its row says how far the runs lay apart."""

from __future__ import annotations

from bench.ratio import Measure, Row, Side, measured


def test_both_sides_run_in_turns_and_get_ready_off_the_clock() -> None:
    done: list[str] = []

    def note(text: str) -> Side:
        return Side(
            text, lambda: done.append(text), ready=lambda: done.append(f"{text} gets ready")
        )

    row = measured(
        Measure("m", note("ours"), note("theirs"), goal=2, end=lambda: done.append("end")), 2
    )
    theirs, ours = ["theirs gets ready", "theirs"], ["ours gets ready", "ours"]
    assert done == [*theirs, *ours, *ours, *theirs, "end"]
    assert {name: len(times) for name, times in row.seconds.items()} == {"ours": 2, "theirs": 2}


def test_a_row() -> None:
    row = Row("m", {"ours": [3.0, 9.0, 4.0], "theirs": [2.0, 1.0, 2.5]}, goal=4, more={"MB/s": 70})
    assert row.plain() == {
        "measure": "m",
        "seconds": {
            "ours": {"median": 4.0, "least": 3.0, "most": 9.0, "rounds": 3},
            "theirs": {"median": 2.0, "least": 1.0, "most": 2.5, "rounds": 3},
        },
        "ratio": 2.0,
        "goal": 4,
        "MB/s": 70,
    }
    assert row.line() == (
        "| m; MB/s 70 | ours: 4.0 s (3.0-9.0) | theirs: 2.0 s (1.0-2.5) | 2.0 | at most 4 |"
    )
