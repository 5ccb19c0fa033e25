# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""From what a host has to what it is to have, and back, without a host."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.samewire.vllm.plugins.module_utils import _network_change as change
from ansible_collections.samewire.vllm.plugins.module_utils._network_change import (
    Link,
    Made,
    Record,
    State,
)
from ansible_collections.samewire.vllm.plugins.module_utils._network_files import Setup

NOTHING = Record()
BARE = Link(frozenset(), 1500)
WANTED = Setup("a", ("10.0.0.1/24",), 9000)


def host(record: Record = NOTHING, **links: Link) -> State:
    """Return the state of a host whose files are those that its record says."""
    files = {change.RECORD: change.render_record(record)} if record.made else {}
    own = change.network_files.files(record.manager, record.setups)
    return State(record.manager, record.setups, files | own, links)


def obeyed(commands: list[list[str]], links: Mapping[str, Link]) -> dict[str, Link]:
    """Return the links after commands of `ip`."""
    found = dict(links)
    for argv in commands:
        if argv[1] == "address":
            verb, address, name = argv[2], argv[3], argv[5]
            old = found[name]
            own = old.addresses | {address} if verb == "add" else old.addresses - {address}
            found[name] = Link(own, old.mtu)
        else:
            found[argv[4]] = Link(found[argv[4]].addresses, int(argv[6]))
    return found


def after(state: State) -> Record:
    return change.parse_record(state.files.get(change.RECORD, ""))


def test_a_record_survives_its_file() -> None:
    record = Record("netplan", (Made(WANTED, ("10.0.0.1/24",), 1500), Made(Setup("b", ()))))
    assert change.parse_record(change.render_record(record)) == record
    assert change.parse_record("") == Record()


def test_a_second_run_has_nothing_to_do_and_absent_leaves_nothing() -> None:
    first = change.target(Record(), "ip", [WANTED], host(a=BARE))
    assert first.links == {"a": Link(frozenset({"10.0.0.1/24"}), 9000)}
    again = change.target(after(first), "ip", [WANTED], first)
    assert change.same(first, again)
    gone = change.target(after(first), "ip", [], first)
    assert change.same(gone, host(a=BARE))


def test_an_address_of_somebody_else_stays() -> None:
    there = Link(frozenset({"10.0.0.1/24", "10.9.9.9/24"}), 9000)
    first = change.target(Record(), "netplan", [WANTED], host(a=there))
    assert first.links["a"] == there
    gone = change.target(after(first), "netplan", [], first)
    assert gone.links["a"] == there
    assert gone.files == {}


def test_what_a_manager_is_told_is_left_to_it() -> None:
    here = host(a=Link(frozenset({"10.9.9.9/24"}), 1500))
    there = change.target(Record(), "netplan", [WANTED], here)
    assert change.after_files(here, there) == [["netplan", "generate"], ["netplan", "apply"]]
    # networkd drops what is not in its file.
    assert change.moves(here, there, {"a": BARE}) == [
        ["ip", "address", "add", "10.9.9.9/24", "dev", "a"]
    ]
    assert change.moves(there, here, {"a": Link(frozenset({"10.0.0.1/24"}), 9000)}) == [
        ["ip", "address", "delete", "10.0.0.1/24", "dev", "a"],
        ["ip", "address", "add", "10.9.9.9/24", "dev", "a"],
        ["ip", "link", "set", "dev", "a", "mtu", "1500"],
    ]


def test_another_manager_takes_over() -> None:
    here = change.target(Record(), "ifupdown", [WANTED], host(a=BARE))
    there = change.target(after(here), "NetworkManager", [WANTED], here)
    assert change.before_files(here, there) == [["ifdown", "a"]]
    assert change.after_files(here, there) == [
        ["nmcli", "connection", "reload"],
        ["nmcli", "--wait", "20", "connection", "up", "samewire-a"],
    ]
    assert set(there.files) == {
        change.RECORD,
        "/etc/NetworkManager/system-connections/samewire-a.nmconnection",
    }
    assert set(here.files) <= change.paths(after(here), "NetworkManager", [WANTED])


ADDRESSES = st.frozensets(st.sampled_from([f"10.{n}.0.1/24" for n in range(4)]))
LINKS = st.builds(Link, ADDRESSES, st.sampled_from([1500, 4000, 9000]))
SETUPS = st.builds(
    lambda a, b: [each for each in (a, b) if each.addresses],
    st.builds(
        Setup, st.just("a"), ADDRESSES.map(sorted).map(tuple), st.sampled_from([None, 4000, 9000])
    ),
    st.builds(
        Setup, st.just("b"), ADDRESSES.map(sorted).map(tuple), st.sampled_from([None, 4000, 9000])
    ),
)


@settings(deadline=None)
@given(LINKS, LINKS, st.lists(SETUPS, min_size=1, max_size=4))
def test_there_and_back(one: Link, other: Link, wishes: list[list[Setup]]) -> None:
    bare = here = host(a=one, b=other)
    for wish in wishes:
        there = change.target(after(here), "ip", wish, here)
        for setup in wish:
            assert set(setup.addresses) <= there.links[setup.interface].addresses
            assert setup.mtu in (None, there.links[setup.interface].mtu)
        assert obeyed(change.moves(here, there, here.links), here.links) == there.links
        assert obeyed(change.moves(there, here, there.links), there.links) == here.links
        assert change.same(there, change.target(after(there), "ip", wish, there))
        here = there
    assert change.same(change.target(after(here), "ip", [], here), bare)
