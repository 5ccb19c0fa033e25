# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a rule of the diagnosis is: a fault, its cure, and the lines by which programs betray it."""

from __future__ import annotations

from dataclasses import dataclass

# The mark of a server that serves.
READY = "ready"
# How sure a signature is, and how far its rule stands from the root of the trouble.
CERTAIN, LIKELY, HINT = 3, 2, 1
CAUSE, SYMPTOM, CONSEQUENCE = "cause", "symptom", "consequence"

CONFIDENCE = {CERTAIN: "high", LIKELY: "medium", HINT: "low"}


@dataclass(frozen=True)
class Signature:
    """A message in a log.

    needle: whole words that the line must hold, as they stand, in lower case; without digits, double
    quotes and angle brackets.
    pattern: regular expression, case ignored, on the line and what its process prints next, without
    prefixes; empty where the needle is enough.
    strength: CERTAIN where the message names the fault, LIKELY where it usually means it, HINT where it
    counts only in a run that never got ready.
    lines: how many lines the message may span.
    needs, without: marks that must, or must not, be anywhere in the logs.
    less: two groups of the pattern, the first of which must be the smaller number.
    lasting: stays true whatever comes later.
    """

    needle: str
    pattern: str = ""
    strength: int = CERTAIN
    lines: int = 1
    needs: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    less: tuple[str, str] | None = None
    lasting: bool = False


@dataclass(frozen=True)
class Rule:
    """A fault with a stable id.

    variable: the setting to change, empty where there is none. link: upstream source of the messages.
    explains: ids of faults that are only its echo where both are found. overcome_by: marks after which what
    the same log said before counts no more.
    """

    id: str
    layer: str
    role: str
    cause: str
    remedy: str
    variable: str
    link: str
    signatures: tuple[Signature, ...]
    explains: tuple[str, ...] = ()
    overcome_by: tuple[str, ...] = (READY,)
