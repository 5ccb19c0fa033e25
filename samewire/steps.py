# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a long task says of itself while it runs, as numbers; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

# The form in which the collection's actions say how far they are.
STEP = re.compile(r"^(?P<host>\S+): (?P<what>.*) \((?P<seconds>\d+) s\)\s*$")
BYTES = re.compile(r"\b(?P<done>[\d.,]+)(?: of |/)(?P<all>[\d.,]+) (?P<unit>[MG]B)\b")
COUNTED = re.compile(r" (?P<done>\d+)/(?P<all>[1-9]\d*)\b")
MB = {"MB": 1.0, "GB": 1000.0}
# Before, a rate is a guess.
SETTLED_S = 2.0


@dataclass(frozen=True)
class Step:
    """One line of a host, as "node0: pulling the image, layers 5/12, 1.2 of 4.1 GB (40 s)".

    seconds: since the task began; fraction: how much is done, 0 to 1, None where it does not say; rate: in
    MB/s, None where it does not count bytes or says its rate itself.
    """

    host: str
    what: str
    seconds: float
    fraction: float | None = None
    rate: float | None = None

    @property
    def left(self) -> float | None:
        """Return the seconds that are left at this pace, None where nobody can know."""
        # Some say it themselves.
        if (
            not self.fraction
            or self.fraction >= 1
            or self.seconds < SETTLED_S
            or " left" in self.what
        ):
            return None
        return self.seconds * (1 - self.fraction) / self.fraction


def parse(line: str) -> Step | None:
    """Return what a line says, None where it is no such line."""
    said = STEP.match(line)
    if said is None:
        return None
    what, seconds = said["what"], float(said["seconds"])
    if size := BYTES.search(what):
        done, all_of_it = _number(size["done"]), _number(size["all"])
        # What has come is unpacked next, at no pace of the network.
        counts = seconds >= SETTLED_S and done < all_of_it and "MB/s" not in what
        rate = done * MB[size["unit"]] / seconds if counts else None
        return Step(said["host"], what, seconds, _part(done, all_of_it), rate)
    counted = COUNTED.search(what)
    part = _part(float(counted["done"]), float(counted["all"])) if counted else None
    return Step(said["host"], what, seconds, part)


def _part(done: float, all_of_it: float) -> float | None:
    return min(done / all_of_it, 1.0) if all_of_it else None


def _number(text: str) -> float:
    return float(text.replace(",", ""))
