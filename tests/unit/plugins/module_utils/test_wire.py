# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Plain forms keep everything."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.module_utils import _wire as wire


def test_a_listener() -> None:
    listener = wire.Listener(
        address="10.77.0.1",
        interface="eth1",
        nonce="nonce",
        ports=(wire.Port(40001), wire.Port(6379, live=True)),
        mtu=9000,
        macs=frozenset({"02:00:00:00:00:01"}),
    )
    assert wire.parse_listener(wire.render_listener(listener)) == listener


def test_a_probe() -> None:
    whole = wire.Crossing(
        target="node1",
        attempts=(wire.Attempt(40001, wire.CONNECTED),),
        route_interface="eth1",
        neighbour_mac="02:00:00:00:00:02",
        neighbour_state="REACHABLE",
        expected_packet=9000,
        packet=9000,
        clock=wire.Clock(0.25, 0.125),
    )
    silent = wire.Crossing("node2", (wire.Attempt(40002, wire.TIMEOUT),))
    probe = wire.Probe((whole, silent), "mac", {"a": "b"})
    assert wire.parse_probe(wire.render_probe(probe)) == probe
