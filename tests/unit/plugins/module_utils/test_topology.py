# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Facts of a host as values and as plain data."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _topology


def test_unknown_and_unreadable_keys_are_not_stated() -> None:
    host = _topology.parse_host(
        "n",
        {
            "note": "from a post",
            "interfaces": [
                {"name": "eth0", "addresses": ["10.19.x.x", "10.0.0.1/24"], "mtu": "big"},
                {"state": "up"},
                "eth1",
            ],
            "rdma": [{"device": "mlx5_0", "lid": 1, "gids": [[3, "RoCE v2", "mapped"], [4]]}],
            "gpus": None,
            "routes": [{"destination": "somewhere", "interface": "eth0"}],
        },
    )

    assert [each.name for each in host.interfaces] == ["eth0"]
    assert host.interfaces[0].addresses == (ipaddress.ip_interface("10.0.0.1/24"),)
    assert host.interfaces[0].mtu is None
    assert host.rdma is not None
    assert host.rdma[0].gids == (_topology.Gid(3, "RoCE v2", None),)
    assert host.gpus is None
    assert host.routes == ()


def test_no_address_is_not_the_same_as_not_stated() -> None:
    host = _topology.parse_host(
        "n", {"interfaces": [{"name": "a"}, {"name": "b", "addresses": []}]}
    )

    assert [each.addresses for each in host.interfaces] == [None, ()]


def test_full_facts_are_read() -> None:
    facts = {
        "interfaces": [
            {
                "name": "enp1s0f0np0",
                "type": "ethernet",
                "state": "up",
                "addresses": ["192.168.200.12/24", "fd93::1/64"],
                "mtu": 9000,
                "speed_mbps": 100000,
                "driver": "mlx5_core",
                "pci": "0000:01:00.0",
                "numa_node": 0,
                "phys_port": "p0",
                "is_default_route": True,
            },
            {"name": "eth0.7", "type": "vlan", "parent": "eth0", "master": "br0"},
        ],
        "rdma": [
            {
                "device": "rocep1s0f0",
                "port": 1,
                "state": "Active",
                "link_layer": "Ethernet",
                "rate_gbps": 100.0,
                "netdev": "enp1s0f0np0",
                "gids": [[3, "RoCE v2", "::ffff:192.168.200.12"], [5, "RoCE v2", "fe80::1"]],
                "driver": "mlx5_core",
                "pci": "0000:01:00.0",
                "numa_node": 0,
            }
        ],
        "gpus": [{"pci": "000f:01:00.0", "numa_node": 0}],
        "routes": [
            {"destination": "default", "family": 6, "interface": "eth0", "gateway": "fe80::1"},
            {"destination": "10.0.0.0/8", "family": 4, "interface": "eth0"},
        ],
        "default_route_interface": "enp1s0f0np0",
        "absent": {"gpus": "no reason"},
    }

    assert _topology.parse_host("spark0", facts) == _topology.Host(
        name="spark0",
        interfaces=(
            _topology.Interface(
                name="enp1s0f0np0",
                type="ethernet",
                state="up",
                addresses=(
                    ipaddress.ip_interface("192.168.200.12/24"),
                    ipaddress.ip_interface("fd93::1/64"),
                ),
                mtu=9000,
                speed_mbps=100000,
                driver="mlx5_core",
                pci="0000:01:00.0",
                numa_node=0,
                phys_port="p0",
                is_default_route=True,
            ),
            _topology.Interface("eth0.7", type="vlan", parent="eth0", master="br0"),
        ),
        rdma=(
            _topology.RdmaPort(
                device="rocep1s0f0",
                port=1,
                state="Active",
                link_layer="Ethernet",
                rate_gbps=100.0,
                netdev="enp1s0f0np0",
                gids=(
                    _topology.Gid(3, "RoCE v2", ipaddress.ip_address("::ffff:192.168.200.12")),
                    _topology.Gid(5, "RoCE v2", ipaddress.ip_address("fe80::1")),
                ),
                driver="mlx5_core",
                pci="0000:01:00.0",
                numa_node=0,
            ),
        ),
        gpus=(_topology.Gpu("000f:01:00.0", numa_node=0),),
        routes=(
            _topology.Route(ipaddress.ip_network("::/0"), "eth0", "fe80::1"),
            _topology.Route(ipaddress.ip_network("10.0.0.0/8"), "eth0"),
        ),
        default_route_interface="enp1s0f0np0",
        absent={"gpus": "no reason"},
    )


@pytest.mark.parametrize(
    ("name", "type_", "kind"),
    [
        ("enp1s0", "ethernet", "physical"),
        ("enp1s0", None, "unknown"),
        ("tailscale0", "ethernet", "tunnel"),
        ("tun0", "tun", "tunnel"),
        ("wg0", "wireguard", "tunnel"),
        ("flannel.1", None, "tunnel"),
        ("wlp3s0", "ethernet", "wifi"),
        ("wlan", "wifi", "wifi"),
        ("docker0", None, "bridge"),
        ("br-0123456789ab", "ethernet", "bridge"),
        ("vmbr0", "bridge", "bridge"),
        ("ibp3s0", None, "infiniband"),
        ("ibP2p3s0", None, "infiniband"),
        ("ibs37", "infiniband", "infiniband"),
        ("lo", None, "loopback"),
        ("usb0", "ethernet", "usb"),
        ("bond0.2093", "vlan", "vlan"),
        ("cali123", None, "veth"),
        ("enP7s7", "veth", "veth"),
        ("net1", "ipvlan", "macvlan"),
        ("hsn0", "ethernet", "physical"),
    ],
)
def test_kind_comes_from_type_then_name(name: str, type_: str | None, kind: str) -> None:
    assert _topology.Interface(name, type=type_).kind == kind


def test_longest_route_wins() -> None:
    routes: list[dict[str, Any]] = [
        {"destination": "default", "interface": "lan"},
        {"destination": "10.9.0.0/16", "interface": "fabric"},
    ]
    host = _topology.parse_host("n", {"routes": routes})

    assert host.route_to(ipaddress.ip_address("10.9.1.2")) == "fabric"
    assert host.route_to(ipaddress.ip_address("10.8.1.2")) == "lan"
    assert host.route_to(ipaddress.ip_address("fd00::1")) is None


def test_carriers_are_everything_below_an_interface() -> None:
    host = _topology.parse_host(
        "n",
        {
            "interfaces": [
                {"name": "eth0", "master": "bond0"},
                {"name": "eth1", "master": "bond0"},
                {"name": "bond0", "type": "bond"},
                {"name": "bond0.7", "type": "vlan"},
                {"name": "eth2"},
            ]
        },
    )

    assert host.carriers("bond0.7") == {"bond0.7", "bond0", "eth0", "eth1"}
