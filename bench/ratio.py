# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A ratio of two things measured in one run, side by side: medians, with the spread of each."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

HEADER = "| measure | ours | theirs | ratio | goal |\n|---|---|---|---|---|"


def nothing() -> None:
    """Needs no preparation."""


@dataclass(frozen=True)
class Side:
    """One of the two things compared; `ready` comes before each run, off the clock."""

    name: str
    work: Callable[[], None]
    ready: Callable[[], None] = nothing


@dataclass(frozen=True)
class Measure:
    """A ratio, and the most that it should be; `end` brings things back for the next measure."""

    name: str
    ours: Side
    theirs: Side
    goal: float | None = None
    end: Callable[[], None] = nothing


@dataclass(frozen=True)
class Row:
    """What was measured: seconds of each run by name of the side, ours first; more: further figures."""

    name: str
    seconds: Mapping[str, Sequence[float]]
    goal: float | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """How many times theirs ours takes."""
        ours, theirs = (statistics.median(times) for times in self.seconds.values())
        return ours / theirs

    def plain(self) -> dict[str, Any]:
        """Return the row as plain data."""
        return {
            "measure": self.name,
            "seconds": {
                name: {
                    "median": round(statistics.median(times), 2),
                    "least": round(min(times), 2),
                    "most": round(max(times), 2),
                    "rounds": len(times),
                }
                for name, times in self.seconds.items()
            },
            "ratio": round(self.ratio, 2),
            "goal": self.goal,
            **self.more,
        }

    def line(self) -> str:
        """Return the row of the table."""
        plain = self.plain()
        sides = " | ".join(
            f"{name}: {of['median']} s ({of['least']}-{of['most']})"
            for name, of in plain["seconds"].items()
        )
        goal = f"at most {self.goal}" if self.goal else "-"
        more = "".join(f"; {name} {value}" for name, value in self.more.items())
        return f"| {self.name}{more} | {sides} | {plain['ratio']} | {goal} |"


def clocked(side: Side) -> float:
    """Return the seconds that a side takes."""
    side.ready()
    began = time.monotonic()
    side.work()
    return time.monotonic() - began


def measured(measure: Measure, rounds: int) -> Row:
    """Run both sides in turns, so that what else the machine does falls on both."""
    sides = (measure.ours, measure.theirs)
    took: dict[str, list[float]] = {side.name: [] for side in sides}
    for number in range(rounds):
        # Whoever is first finds other caches than whoever is second.
        for side in sides if number % 2 else reversed(sides):
            took[side.name].append(clocked(side))
    measure.end()
    return Row(measure.name, took, measure.goal)
