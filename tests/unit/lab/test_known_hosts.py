# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The keys of the hosts, which are awaited at the same time."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from samewire_lab import hosts, spec
from samewire_lab.state import State


def test_no_key_is_lost_and_the_order_is_always_the_same(tmp_path: Path) -> None:
    state = State(tmp_path)
    wanted = "".join(f"{host.management_address} ssh-ed25519 {host.name}\n" for host in spec.HOSTS)
    for order in (spec.HOSTS, spec.HOSTS[::-1]) * 20:
        state.known_hosts.unlink(missing_ok=True)
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda host: hosts.know(state, host, f"ssh-ed25519 {host.name}"), order))
        assert state.known_hosts.read_text() == wanted


def test_a_new_key_replaces_the_former(tmp_path: Path) -> None:
    state = State(tmp_path)
    first = spec.HOSTS[0]
    hosts.know(state, first, "ssh-ed25519 old")
    hosts.know(state, first, "ssh-ed25519 new")
    assert state.known_hosts.read_text() == f"{first.management_address} ssh-ed25519 new\n"
