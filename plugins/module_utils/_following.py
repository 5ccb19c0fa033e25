# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Follow something long that goes on on a host, showing from time to time how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

# Seconds between two lines that stay.
SHOWN_EVERY = 30.0


def follow(
    look: Callable[[], Mapping[str, Any]],
    show: Callable[[str], None],
    clock: Callable[[], float],
    stall: float,
    every: float = SHOWN_EVERY,
) -> dict[str, Any]:
    """Return the last look: one that is over, or that says in `problem` why it will not be.

    look: waits a while for the end and returns `progress`, `over` and `problem`, or that the module failed;
    stall: seconds without progress after which it is given up; every: seconds between two lines for people.
    """
    begun = moved = clock()
    shown, known = begun - every, ""
    while True:
        seen = dict(look())
        if seen.get("failed") or seen.get("unreachable"):
            return seen
        now = clock()
        if seen["progress"] not in ("", known):
            known, moved = seen["progress"], now
            if now - shown >= every or seen["over"]:
                shown = now
                show(f"{known} ({now - begun:.0f} s)")
        if seen["over"] or seen["problem"]:
            return {**seen, "seconds": round(now - begun, 1)}
        if now - moved > stall:
            return {**seen, "problem": f"no progress for {now - moved:.0f} s at: {known}"}


def carry_through(
    call: Callable[..., Mapping[str, Any]],
    host: str,
    show: Callable[[str], None],
    clock: Callable[[], float],
    stall: float,
    every: float = SHOWN_EVERY,
) -> dict[str, Any]:
    """Start a module on a host, and repeat it with the `job` that it began, if any, until that is over.

    Returns the module's last result, as that of the task.
    """
    seen = dict(call())
    if "job" in seen:
        job = seen["job"]
        seen = follow(
            lambda: call(job=job), lambda text: show(f"{host}: {text}"), clock, stall, every
        )
    if seen.get("problem"):
        return {**seen, "failed": True, "msg": f"{host}: {seen['problem']}"}
    return seen
