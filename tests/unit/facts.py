# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Facts of hosts for tests, in their plain form."""

from __future__ import annotations

from typing import Any

Facts = dict[str, Any]


def nic(name: str, *addresses: str, **more: Any) -> Facts:
    """An Ethernet interface that is up, with exactly these addresses."""
    facts = {"name": name, "type": "ethernet", "state": "up", "addresses": list(addresses)}
    return {**facts, **more}


def host(name: str, *interfaces: Facts, **more: Any) -> Facts:
    return {"name": name, "interfaces": list(interfaces), **more}


def roce(device: str, netdev: str, **more: Any) -> Facts:
    facts = {"device": device, "port": 1, "state": "Active", "link_layer": "Ethernet"}
    return {**facts, "rate_gbps": 100, "netdev": netdev, **more}


def infiniband(device: str, **more: Any) -> Facts:
    return {"device": device, "port": 1, "state": "Active", "link_layer": "InfiniBand", **more}


def lab_node(number: int, *fabric: str) -> Facts:
    """A host with a management interface, Docker's bridge and a fabric interface, all virtual."""
    return host(
        f"node{number}",
        nic("docker0", "172.17.0.1/16", type="bridge"),
        nic("enP7s7", f"10.213.1.{180 + number}/24", type="veth", speed_mbps=10000),
        nic(("enp1s0f0np0", "enp1s0f1np1")[number], *fabric, type="veth", speed_mbps=10000),
        rdma=[],
        default_route_interface="enP7s7",
    )


def spark(number: int, *fabric: str, port: int = 0) -> Facts:
    """A DGX Spark with one cable; the first PCI twin of the cabled port has the addresses."""
    interfaces = [nic("enP7s7", f"10.1.230.{180 + number}/24", speed_mbps=10000, mtu=1500)]
    ports = []
    for function in (0, 1):
        for domain in ("", "P2"):
            netdev = f"en{domain}p1s0f{function}np{function}"
            up = function == port
            interfaces.append(
                nic(
                    netdev,
                    *(fabric if up and not domain else ()),
                    state="up" if up else "down",
                    mtu=9000,
                    speed_mbps=100000 if up else None,
                )
            )
            state = "Active" if up else "Down"
            ports.append(roce(f"roce{domain}p1s0f{function}", netdev, state=state))
    return host(f"spark{number}", *interfaces, rdma=ports, default_route_interface="enP7s7")
