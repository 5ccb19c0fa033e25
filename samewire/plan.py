# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A plan of schema samewire.plan/1 as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = tuple[str, ...]


def table(plan: Mapping[str, Any]) -> list[str]:
    """Return the lines: the network and why, each host, what was not chosen, overrides, warnings."""
    return [
        *_network(plan["network"], plan["transport"]),
        *_hosts(plan),
        *_rejected(plan),
        *_overridden(plan),
        *_warnings(plan),
    ]


def rejected(plan: Mapping[str, Any]) -> list[Row]:
    """Return what was not chosen: hosts, interface or RDMA port, addresses or "-", reason.

    Hosts on which the same name has the same reason share a row.
    """
    rows: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for host, entry in plan["hosts"].items():
        for each in entry["rejected"]:
            seen = rows.setdefault((each["interface"], each["because"]), [])
            seen.append((host, each["address"] or "-"))
        for each in entry["rejected_hcas"]:
            rows.setdefault((each["hca"], each["because"]), []).append((host, "-"))
    every = set(plan["hosts"])
    return [
        (
            _few([host for host, _ in seen], whole=len({host for host, _ in seen}) == len(every)),
            name,
            _few(list(dict.fromkeys(address for _, address in seen))),
            because,
        )
        for (name, because), seen in rows.items()
    ]


def overridden(plan: Mapping[str, Any]) -> list[Row]:
    """Return the user's variables: hosts, variable, value, the plan's value or "-".

    Hosts with the same variable and value share a row.
    """
    rows: dict[Row, list[str]] = {}
    for host, entry in plan["hosts"].items():
        for each in entry["overrides"]:
            row = (each["variable"], each["value"], each["instead_of"] or "-")
            rows.setdefault(row, []).append(host)
    return [
        (_few(hosts, whole=len(hosts) == len(plan["hosts"])), *row)
        for row, hosts in sorted(rows.items())
    ]


def _few(names: Sequence[str], *, whole: bool = False) -> str:
    """Return names in a row, the first of many; whole says that they are all there are."""
    names = list(dict.fromkeys(names))
    if len(names) <= 3:
        return ", ".join(names)
    return f"all {len(names)}" if whole else f"{names[0]}, {names[1]} and {len(names) - 2} more"


def _network(network: Mapping[str, Any], transport: str) -> Iterator[str]:
    mtu = f", MTU {network['mtu']}" if network["mtu"] else ""
    yield f"Network    {network['cidr'] or 'not stated'}, {transport}{mtu}"
    for reason in network["chosen_because"]:
        yield f"           because {reason}"


def _hosts(plan: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    rows: list[Row] = [
        (name, host["address"] or "not stated", host["interface"], ",".join(host["hcas"]) or "-")
        for name, host in plan["hosts"].items()
    ]
    yield from _columns([("HOST", "ADDRESS", "INTERFACE", "HCAS"), *rows])


def _rejected(plan: Mapping[str, Any]) -> Iterator[str]:
    rows = rejected(plan)
    if rows:
        yield ""
        yield from _columns([("NOT CHOSEN ON", "WHAT", "ADDRESS", "BECAUSE"), *rows])


def _overridden(plan: Mapping[str, Any]) -> Iterator[str]:
    rows = overridden(plan)
    if rows:
        yield ""
        yield from _columns([("OVERRIDDEN ON", "VARIABLE", "VALUE", "INSTEAD OF"), *rows])


def _warnings(plan: Mapping[str, Any]) -> Iterator[str]:
    if plan["warnings"]:
        yield ""
    for warning in plan["warnings"]:
        where = f"{warning['host']}: " if warning["host"] else ""
        yield f"Warning    {where}{warning['message']} ({warning['code']})"


def _columns(rows: Sequence[Row]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(f"{text:{w}}" for text, w in zip(row, widths, strict=True)).rstrip()
