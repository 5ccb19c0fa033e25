# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a run shows: the interfaces that NCCL says it uses, the bytes that the kernel counted, the outcome."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

# What an idle interface sends by itself: neighbour discovery, router solicitations.
NOISE_BYTES = 100_000

LAYERS = ("Bootstrap", "NET/Socket")

# "spark0:613:664 [0] NCCL INFO " and, before a warning, the time.
_PREFIX = re.compile(r"^(\[[-\d: ]+\] )?\S+:\d+:\d+ \[\d+\] ")
_USED = re.compile(r"(Bootstrap|NET/Socket) ?: Using (.*)")
_INTERFACE = re.compile(r"(?:\[\d+\])?([^\s:\[\]]+):(\S+)<\d+>")
_TELLING = re.compile(
    r"Bootstrap ?: |NET/(?:Socket|IB) ?: |NCCL WARN|NCCL_\w+ set (?:by|to)|Using network|"
    r" returned .*retry|Error: "
)


class Outcome(StrEnum):
    """What became of a run."""

    PLANNED = "planned"  # the sum is right, and the planned interfaces carried all of it
    BESIDE = "beside the plan"  # the sum is right, but another interface or address served as well
    WRONG = "wrong sum"
    FAILED = "failed"  # a rank ended with an error
    WAITING = "waiting"  # neither ended in time


@dataclass(frozen=True)
class Rank:
    """One rank of a run: its place in the plan, and what was seen of it.

    `code` is its exit status, None where it was stopped at the limit. `right` is whether each sum was
    right, None where none was made. `sent` are bytes by interface. `layers` are those that name in the
    log what they use.
    """

    interface: str
    address: str
    code: int | None
    right: bool | None
    log: str
    sent: Mapping[str, int]
    layers: tuple[str, ...] = LAYERS

    def used(self, layer: str) -> tuple[tuple[str, str], ...]:
        """Return the interfaces and addresses that "Bootstrap" or "NET/Socket" named."""
        found = [each[2] for each in _USED.finditer(self.log) if each[1] == layer]
        return tuple(_INTERFACE.findall(found[0])) if found else ()

    def obeys(self, payload: int) -> bool:
        """Whether each layer named the planned address alone, and all bytes went that way."""
        planned = ((self.interface, self.address),)
        others = (count for name, count in self.sent.items() if name != self.interface)
        return (
            all(self.used(layer) == planned for layer in self.layers)
            and self.sent[self.interface] >= payload
            and all(count <= NOISE_BYTES for count in others)
        )


def judge(ranks: Iterable[Rank], payload: int) -> Outcome:
    """Return the outcome of a run in which each rank had that many bytes to send."""
    seen = list(ranks)
    if any(each.code for each in seen):
        return Outcome.FAILED
    if any(each.code is None for each in seen):
        return Outcome.WAITING
    if not all(each.right for each in seen):
        return Outcome.WRONG
    return Outcome.PLANNED if all(each.obeys(payload) for each in seen) else Outcome.BESIDE


def telling(log: str) -> list[str]:
    """Return the lines of a log that say what was chosen and what failed, once each, the last retry alone."""
    lines = (_PREFIX.sub("", line) for line in log.splitlines())
    return list(
        {line.partition("retry")[0]: line for line in lines if _TELLING.search(line)}.values()
    )


def counters(links: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the bytes sent by interface, loopback too, from `ip -json -statistics link`."""
    return {each["ifname"]: each["stats64"]["tx"]["bytes"] for each in links}


def table(results: Iterable[Mapping[str, Any]]) -> str:
    """Return the cases of a results file as a table for people."""
    rows = [("CASE", "NCCL USED", "MB SENT", "S", "OUTCOME", "")]
    for each in results:
        ranks = list(each["ranks"].values())
        used = [" ".join(rank["net"]) or "-" for rank in ranks]
        sent: dict[str, int] = {}
        for rank in ranks:
            for name, count in rank["sent"].items():
                sent[name] = sent.get(name, 0) + count
        rows.append(
            (
                each["name"],
                " | ".join(dict.fromkeys(used)),
                " ".join(
                    f"{name} {count / 1e6:.0f}"
                    for name, count in sent.items()
                    if count > NOISE_BYTES
                ),
                f"{each['seconds']:.0f}",
                each["outcome"],
                "" if each["outcome"] == each["expected"] else f"expected: {each['expected']}",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
