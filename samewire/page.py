# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A plan as one self-contained page, with a drawing of the hosts and the wire between them.

Hosts stand to the left and to the right of the wire, two in a row; each row is a drawing of its own,
so that a printer may break the page between rows. Sizes are in pixels of a page of WIDTH.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from ansible_collections.samewire.vllm.plugins.module_utils import _topology
from samewire.facts import Facts
from samewire.plan import overridden, rejected

WIDTH = 1120
CARD = 500
GAP = WIDTH - 2 * CARD
PAD = 14
LETTER = 7.3  # the advance of the monospaced font at 12 px, rounded up
LINE = 26
CHOSEN_HEIGHT = 66
ROW_GAP = 16


@dataclass(frozen=True)
class Pill:
    """An interface or RDMA port beside the chosen one, with its place in the card.

    A rail carries data, though not the address. `hint` shows on hover.
    """

    x: float
    y: float
    width: float
    text: str
    hint: str
    rail: bool


@dataclass(frozen=True)
class Card:
    """A host in the drawing. `chosen` are the lines of its interface on the wire, none without a plan."""

    name: str
    left: bool
    height: float
    chosen: tuple[str, ...]
    chosen_width: float
    pills: tuple[Pill, ...]

    @property
    def x(self) -> int:
        return 0 if self.left else CARD + GAP


@dataclass(frozen=True)
class Row:
    """Two hosts, or one, side by side."""

    cards: tuple[Card, ...]
    height: float
    first: bool
    last: bool


def render(plan: Mapping[str, Any], known: Facts) -> str:
    """Return the page for a plan of schema samewire.plan/1, or for its error."""
    environment = Environment(
        loader=PackageLoader("samewire"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    failed = "error" in plan
    return environment.get_template("plan.html.j2").render(
        plan=plan,
        failed=failed,
        cluster=known.cluster,
        rows=_rows([_unplanned(host) for host in known.hosts] if failed else _planned(plan, known)),
        rejected=[] if failed else rejected(plan),
        overridden=[] if failed else overridden(plan),
        width=WIDTH,
        card=CARD,
        gap=GAP,
        pad=PAD,
        line=LINE,
        chosen_height=CHOSEN_HEIGHT,
        row_gap=ROW_GAP,
    )


@dataclass(frozen=True)
class _Other:
    """An interface or RDMA port that is not the chosen one, and why."""

    text: str
    why: str
    rail: bool = False

    @property
    def hint(self) -> str:
        return f"{self.text}: {self.why}" if self.why else self.text


@dataclass(frozen=True)
class _Drawn:
    """What is to be drawn of a host, before it has a place."""

    name: str
    chosen: tuple[str, ...]
    others: tuple[_Other, ...]


def _planned(plan: Mapping[str, Any], known: Facts) -> list[_Drawn]:
    hosts = {host.name: host for host in known.hosts}
    drawn = []
    for name, entry in plan["hosts"].items():
        address = entry["address"] or "address not stated"
        prefix = f"/{entry['prefix']}" if entry["prefix"] is not None else ""
        rails = {
            port.netdev: port.hca for port in hosts[name].rdma or () if port.hca in entry["hcas"]
        }
        others = [_other(each, rails.get(each["interface"])) for each in entry["rejected"]]
        others += [_Other(each["hca"], each["because"]) for each in entry["rejected_hcas"]]
        chosen = (
            entry["interface"],
            f"{address}{prefix}",
            _carries(hosts[name].interface(entry["interface"]), entry["hcas"]),
        )
        drawn.append(_Drawn(name, chosen, tuple(others)))
    return drawn


def _other(rejected: Mapping[str, Any], hca: str | None) -> _Other:
    text = _labelled(rejected["interface"], rejected["address"])
    if hca is None:
        return _Other(text, rejected["because"])
    return _Other(text, f"carries the data of {hca}; not the address: {rejected['because']}", True)


def _unplanned(host: _topology.Host) -> _Drawn:
    return _Drawn(
        host.name,
        (),
        tuple(
            _Other(
                _labelled(each.name, ", ".join(map(str, each.addresses or ()))), each.state or ""
            )
            for each in host.interfaces
            if each.kind not in ("loopback", "veth")
        ),
    )


def _carries(interface: _topology.Interface | None, hcas: Sequence[str]) -> str:
    """What goes over an interface, and how fast."""
    speed = interface.speed_mbps if interface is not None else None
    rails = f"RDMA {_shortened(hcas)}" if hcas else "TCP"
    return f"{rails}, {speed / 1000:g} Gb/s" if speed else rails


def _shortened(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 2 else f"{names[0]} and {len(names) - 1} more"


def _labelled(name: str, address: str | None) -> str:
    return f"{name} {address}" if address else name


def _rows(hosts: Sequence[_Drawn]) -> list[Row]:
    pairs = list(zip_longest(hosts[::2], hosts[1::2]))
    rows = []
    for index, pair in enumerate(pairs):
        cards = tuple(
            _card(host, left=number == 0) for number, host in enumerate(pair) if host is not None
        )
        height = max(card.height for card in cards)
        rows.append(Row(cards, height, first=index == 0, last=index == len(pairs) - 1))
    return rows


def _card(host: _Drawn, *, left: bool) -> Card:
    widest = max((len(line) for line in host.chosen), default=0)
    chosen_width = min(widest * LETTER + 2 * PAD, CARD - 2 * PAD)
    # The name stands on the outer side, above the chosen interface where both do not fit.
    beside = len(host.name) * 9 + chosen_width + 3 * PAD <= CARD
    top = CHOSEN_HEIGHT + 2 * PAD if host.chosen else LINE + PAD
    top += 0 if beside or not host.chosen else LINE
    pills, bottom = _flow(host.others, top)
    return Card(host.name, left, bottom + PAD, host.chosen, chosen_width, tuple(pills))


def _flow(others: Iterable[_Other], top: float) -> tuple[list[Pill], float]:
    """Place pills from left to right, in as many lines as needed; return them and the end below."""
    pills: list[Pill] = []
    x, y, most = float(PAD), top, CARD - 2 * PAD
    longest = int((most - PAD) / LETTER)
    for other in others:
        text = other.text
        shown = text if len(text) <= longest else f"{text[: longest - 1]}…"
        width = len(shown) * LETTER + PAD
        if x + width > CARD - PAD and x > PAD:
            x, y = float(PAD), y + LINE + 6
        pills.append(Pill(x, y, width, shown, other.hint, other.rail))
        x += width + 8
    return pills, y + LINE if pills else top - PAD
