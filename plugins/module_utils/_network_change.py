# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""From the network that a host has to the one that it is to have, and back.

A `State` is all that a change touches: files, and of each link the addresses that somebody set and its MTU.
A change and its rollback are the same step between two states, in opposite directions. What was made is in
a record on the host, so that it, and nothing else, can be taken away later.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from ansible_collections.samewire.vllm.plugins.module_utils import _network_files as network_files
from ansible_collections.samewire.vllm.plugins.module_utils._network_files import Setup

RECORD = "/etc/samewire/network_setup.json"


@dataclass(frozen=True)
class Link:
    """An interface now: its addresses with prefix, and its MTU in bytes."""

    addresses: frozenset[str]
    mtu: int


@dataclass(frozen=True)
class Made:
    """What one interface got: the addresses it had not had, and the MTU it had before one was set."""

    setup: Setup
    addresses: tuple[str, ...] = ()
    mtu_before: int | None = None


@dataclass(frozen=True)
class Record:
    """What was made on a host, through which manager."""

    manager: str = network_files.IP
    made: tuple[Made, ...] = ()

    @property
    def setups(self) -> tuple[Setup, ...]:
        return tuple(each.setup for each in self.made)

    def of(self, interface: str) -> Made | None:
        return next((each for each in self.made if each.setup.interface == interface), None)


@dataclass(frozen=True)
class State:
    """Files by path, links by interface; the setups are those that the files say to the manager."""

    manager: str
    setups: tuple[Setup, ...]
    files: Mapping[str, str]
    links: Mapping[str, Link]

    @property
    def interfaces(self) -> tuple[str, ...]:
        return tuple(each.interface for each in self.setups)


def parse_record(text: str) -> Record:
    """Return the record from its file, an empty one from no text."""
    plain = json.loads(text or "{}")
    made = tuple(
        Made(
            setup=Setup(
                interface=each["setup"]["interface"],
                addresses=tuple(each["setup"]["addresses"]),
                mtu=each["setup"]["mtu"],
            ),
            addresses=tuple(each["addresses"]),
            mtu_before=each["mtu_before"],
        )
        for each in plain.get("made", ())
    )
    return Record(plain.get("manager", network_files.IP), made)


def render_record(record: Record) -> str:
    """Return the text of the record's file."""
    return json.dumps(asdict(record), indent=1) + "\n"


def recorded(record: Record, manager: str, setups: Sequence[Setup], now: State) -> Record:
    """Return what will have been made when the interfaces have what is wanted."""
    made = []
    for setup in setups:
        before, link = record.of(setup.interface), now.links[setup.interface]
        ours = before.addresses if before else ()
        mtu = before.mtu_before if before else None
        made.append(
            Made(
                setup=setup,
                addresses=tuple(
                    each for each in setup.addresses if each in ours or each not in link.addresses
                ),
                mtu_before=None if setup.mtu is None else mtu or link.mtu,
            )
        )
    return Record(manager, tuple(made))


def target(record: Record, manager: str, setups: Sequence[Setup], now: State) -> State:
    """Return the state in which the interfaces have what is wanted and nothing more of what was made."""
    new = recorded(record, manager, setups, now)
    files = dict(network_files.files(manager, setups))
    if setups:
        files[RECORD] = render_record(new)
    links = {}
    for interface, link in now.links.items():
        addresses, mtu = link.addresses, link.mtu
        if before := record.of(interface):
            addresses -= set(before.addresses)
            mtu = before.mtu_before or mtu
        for setup in setups:
            if setup.interface == interface:
                addresses |= set(setup.addresses)
                mtu = setup.mtu or mtu
        links[interface] = Link(addresses, mtu)
    return State(manager, tuple(setups), files, links)


def paths(record: Record, manager: str, setups: Sequence[Setup]) -> set[str]:
    """Return the paths of all files that a change touches."""
    ours = network_files.files(record.manager, record.setups)
    return {RECORD, *ours, *network_files.files(manager, setups)}


def same(one: State, other: State) -> bool:
    """Tell whether there is nothing to change between two states."""
    return one.files == other.files and one.links == other.links


def before_files(here: State, there: State) -> list[list[str]]:
    """Return the commands that a step begins with; one that fails had nothing to do."""
    staying = there.interfaces if there.manager == here.manager else ()
    return network_files.leaving(here.manager, here.interfaces, staying)


def after_files(here: State, there: State) -> list[list[str]]:
    """Return the commands that tell the managers of the new files; all of them must succeed."""
    managers = [each.manager for each in (here, there) if each.setups]
    return network_files.entering(managers, there.manager, there.interfaces)


def moves(here: State, there: State, now: Mapping[str, Link]) -> list[list[str]]:
    """Return the commands of `ip` for what the managers leave as it is.

    now: the links once the managers are through, which may not have done yet what they were told.
    """
    commands = []
    told = (
        {} if there.manager == network_files.IP else {each.interface: each for each in there.setups}
    )
    for interface in there.links.keys() & now.keys():
        link, present = there.links[interface], now[interface]
        setup = told.get(interface, Setup(interface, ()))
        gone = (here.links[interface].addresses - link.addresses) & present.addresses
        missing = link.addresses - set(setup.addresses) - present.addresses
        for verb, addresses in (("delete", gone), ("add", missing)):
            commands += [
                ["ip", "address", verb, each, "dev", interface] for each in sorted(addresses)
            ]
        if setup.mtu is None and link.mtu != present.mtu:
            commands += [["ip", "link", "set", "dev", interface, "mtu", str(link.mtu)]]
    return commands
