# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Plans of two hosts, as the planner makes them, for the tests of what comes after the plan."""

from __future__ import annotations

from typing import Any


def plan(
    transport: str = "socket", gid_index: int | None = None, family: int = 4
) -> dict[str, Any]:
    """Return a plan of schema samewire.plan/1 for spark0 and spark1."""
    addresses = ("192.168.200.12", "192.168.200.13") if family == 4 else ("fd00::12", "fd00::13")
    hcas = (
        (["rocep1s0f0:1", "roceP2p1s0f0:1"], ["rocep1s0f1:1"]) if transport == "rdma" else ([], [])
    )
    return {
        "schema": "samewire.plan/1",
        "cluster": "pair",
        "transport": transport,
        "network": {
            "cidr": "192.168.200.0/24" if family == 4 else "fd00::/64",
            "family": family,
            "mtu": 9000,
        },
        "hosts": {
            host: {
                "address": address,
                "interface": interface,
                "hcas": own,
                "gid_index": gid_index,
                "rail_networks": ["192.168.200.0/24"] if own else [],
            }
            for host, address, interface, own in zip(
                ("spark0", "spark1"), addresses, ("enp1s0f0np0", "enp1s0f1np1"), hcas, strict=True
            )
        },
    }
