# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the planner decides for the common clusters, and what it says where it cannot."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _interconnect, _plan, _topology
from tests.unit.facts import Facts, host, infiniband, lab_node, nic, roce, spark

LAB = [lab_node(0, "10.213.2.12/24"), lab_node(1, "10.213.2.13/24")]
SPARKS = [spark(0, "192.168.200.12/24"), spark(1, "192.168.200.13/24", port=1)]


def plan(
    hosts: list[Facts], network: str | None = None, interfaces: dict[str, str] | None = None
) -> dict[str, Any]:
    pins = _interconnect.parse_pins(network, interfaces or {})
    if isinstance(pins, _plan.PlanError):
        return _interconnect.to_json(pins)
    cluster = _topology.parse_cluster({"hosts": hosts})
    return _interconnect.to_json(_interconnect.plan(cluster, "test", pins))


def chosen(result: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {name: (h["interface"], h["address"]) for name, h in result["hosts"].items()}


def warnings(result: dict[str, Any]) -> list[str]:
    return [warning["code"] for warning in result["warnings"]]


def test_fabric_wins_over_an_equally_fast_management_network() -> None:
    assert plan(LAB) == {
        "schema": "samewire.plan/1",
        "cluster": "test",
        "transport": "socket",
        "network": {
            "cidr": "10.213.2.0/24",
            "family": 4,
            "mtu": None,
            "chosen_because": [
                "every host has an address in it",
                "it is not the network of a default route",
            ],
        },
        "hosts": {
            f"node{number}": {
                "address": f"10.213.2.{12 + number}",
                "prefix": 24,
                "interface": interface,
                "hcas": [],
                "gid_index": None,
                "rail_networks": [],
                "rejected": [
                    {
                        "interface": "docker0",
                        "address": "172.17.0.1",
                        "because": "it is a bridge inside this host",
                    },
                    {
                        "interface": "enP7s7",
                        "address": f"10.213.1.{180 + number}",
                        "because": "10.213.1.0/24 is the network of the default route",
                    },
                ],
                "rejected_hcas": [],
            }
            for number, interface in enumerate(("enp1s0f0np0", "enp1s0f1np1"))
        },
        "warnings": [],
    }


def test_sparks_use_both_twins_of_the_cabled_port() -> None:
    result = plan(SPARKS)

    assert result["transport"] == "rdma"
    assert result["network"]["chosen_because"] == [
        "every host has an address in it",
        "no other network that joins all hosts is as fast (100000 Mb/s)",
    ]
    assert chosen(result) == {
        "spark0": ("enp1s0f0np0", "192.168.200.12"),
        "spark1": ("enp1s0f1np1", "192.168.200.13"),
    }
    assert result["hosts"]["spark0"]["hcas"] == ["rocep1s0f0:1", "roceP2p1s0f0:1"]
    assert result["hosts"]["spark1"]["hcas"] == ["rocep1s0f1:1", "roceP2p1s0f1:1"]
    assert result["hosts"]["spark1"]["rejected_hcas"] == [
        {"hca": "rocep1s0f0:1", "because": "its port is Down"},
        {"hca": "roceP2p1s0f0:1", "because": "its port is Down"},
    ]
    assert {"interface": "enP7s7", "address": "10.1.230.180"}.items() <= next(
        each for each in result["hosts"]["spark0"]["rejected"] if each["interface"] == "enP7s7"
    ).items()


def test_both_twins_addressed_in_two_networks_are_one_wire() -> None:
    sparks = copy.deepcopy(SPARKS)
    for number, (each, name) in enumerate(
        zip(sparks, ("enP2p1s0f0np0", "enP2p1s0f1np1"), strict=True)
    ):
        twin = next(i for i in each["interfaces"] if i["name"] == name)
        twin["addresses"] = [f"192.168.100.{12 + number}/24"]

    result = plan(sparks)

    assert result["network"]["cidr"] == "192.168.200.0/24"
    assert result["hosts"]["spark0"]["hcas"] == ["rocep1s0f0:1", "roceP2p1s0f0:1"]
    assert result["hosts"]["spark0"]["rail_networks"] == ["192.168.100.0/24", "192.168.200.0/24"]
    assert warnings(result) == []


def test_second_cable_between_the_same_hosts_is_more_rails() -> None:
    def cabled(number: int) -> Facts:
        return host(
            f"spark{number}",
            nic("enp1s0f0np0", f"192.168.1.{number}/24", speed_mbps=100000),
            nic("enp1s0f1np1", f"192.168.2.{number}/24", speed_mbps=100000),
            rdma=[roce("rocep1s0f0", "enp1s0f0np0"), roce("rocep1s0f1", "enp1s0f1np1")],
        )

    result = plan([cabled(1), cabled(2)])

    assert result["network"]["cidr"] == "192.168.1.0/24"
    assert result["hosts"]["spark1"]["hcas"] == ["rocep1s0f0:1", "rocep1s0f1:1"]
    assert warnings(result) == ["rails_in_separate_networks"]


def test_pinned_management_keeps_the_rails_for_data() -> None:
    result = plan(SPARKS, network="10.1.230.0/24")

    assert chosen(result)["spark0"] == ("enP7s7", "10.1.230.180")
    assert result["hosts"]["spark0"]["hcas"] == ["rocep1s0f0:1", "roceP2p1s0f0:1"]
    assert result["network"]["chosen_because"] == [
        "interconnect_network is 10.1.230.0/24",
        "every host has an address in it",
    ]


def test_infiniband_without_ip_carries_data_beside_the_lan() -> None:
    def node(number: int) -> Facts:
        rdma = [infiniband("mlx5_10"), infiniband("mlx5_2"), roce("mlx5_bond_0", "bond0")]
        return host(f"n{number}", nic("bond0", f"10.0.0.{number}/24", type="bond"), rdma=rdma)

    result = plan([node(1), node(2)])

    assert result["transport"] == "rdma"
    assert result["hosts"]["n1"]["hcas"] == ["mlx5_2:1", "mlx5_10:1"]
    assert result["hosts"]["n1"]["gid_index"] is None
    assert result["hosts"]["n1"]["rejected_hcas"] == [
        {"hca": "mlx5_bond_0:1", "because": "InfiniBand and Ethernet rails are never mixed"}
    ]


def test_host_without_rdma_puts_all_hosts_on_sockets() -> None:
    bare = {**SPARKS[1], "rdma": []}

    result = plan([SPARKS[0], bare])

    assert result["transport"] == "socket"
    assert result["hosts"]["spark0"]["hcas"] == []
    assert result["hosts"]["spark0"]["rejected_hcas"][0] == {
        "hca": "rocep1s0f0:1",
        "because": "spark1 has no RDMA port to match",
    }
    assert result["warnings"] == [
        {
            "code": "rdma_not_on_all_hosts",
            "host": "spark1",
            "message": "it has no RDMA port on the interconnect while other hosts have, so NCCL "
            "uses sockets",
        }
    ]


def test_unsuitable_rdma_devices_say_why() -> None:
    def node(number: int) -> Facts:
        rdma = [
            roce("mlx4_0", "eth0", gids=[[0, "RoCE v1", f"::ffff:10.0.0.{number}"]]),
            roce("rdmap16s27", "eth0", link_layer="Unspecified"),
            roce("irdma9", "eth0", link_layer="Unspecified"),
            roce("iwp3s0", "eth0"),
            roce("rxe0", "eth0"),
            roce("renamed", "eth0", driver="efa"),
        ]
        return host(f"n{number}", nic("eth0", f"10.0.0.{number}/24"), rdma=rdma)

    result = plan([node(1), node(2)])

    assert result["transport"] == "socket"
    assert {e["hca"]: e["because"] for e in result["hosts"]["n1"]["rejected_hcas"]} == {
        "mlx4_0:1": "it has no RoCE v2 GID",
        "rdmap16s27:1": "it is an EFA device, which NCCL uses through its OFI plugin",
        "irdma9:1": "its link layer is Unspecified",
        "iwp3s0:1": "it speaks iWARP, which NCCL cannot use",
        "rxe0:1": "it is a software RDMA device",
        "renamed:1": "it is an EFA device, which NCCL uses through its OFI plugin",
    }


def test_gid_index_is_per_host_and_unset_where_ports_differ() -> None:
    def node(number: int, first: int, second: int) -> Facts:
        def table(index: int, address: str) -> list[list[Any]]:
            return [
                [1, "RoCE v2", "fe80::1"],
                [index - 1, "RoCE v1", f"::ffff:{address}"],
                [index, "RoCE v2", f"::ffff:{address}"],
            ]

        return host(
            f"n{number}",
            nic("eth1", f"10.1.0.{number}/24"),
            nic("eth2", f"10.2.0.{number}/24"),
            rdma=[
                roce("mlx5_0", "eth1", gids=table(first, f"10.1.0.{number}")),
                roce("mlx5_1", "eth2", gids=table(second, f"10.2.0.{number}")),
            ],
        )

    hosts = plan([node(1, 3, 3), node(2, 5, 5), node(3, 3, 5)])["hosts"]

    assert [hosts[name]["gid_index"] for name in ("n1", "n2", "n3")] == [3, 5, None]


def test_bond_and_vlan_find_the_rdma_ports_below_them() -> None:
    def node(number: int) -> Facts:
        return host(
            f"n{number}",
            nic("eth0", master="bond0"),
            nic("eth1", master="bond0"),
            nic("bond0", type="bond"),
            nic("data", f"10.0.0.{number}/24", type="vlan", parent="bond0"),
            rdma=[roce("mlx5_0", "eth0"), roce("mlx5_1", "eth1"), roce("mlx5_2", "eth7")],
        )

    result = plan([node(1), node(2)])

    assert result["hosts"]["n1"]["hcas"] == ["mlx5_0:1", "mlx5_1:1"]
    assert result["hosts"]["n1"]["rejected_hcas"] == [
        {"hca": "mlx5_2:1", "because": "it is not on the port that carries the interconnect"}
    ]
    assert result["hosts"]["n1"]["rejected"][1] == {
        "interface": "eth0",
        "address": None,
        "because": "it is a port of bond0",
    }


def test_similar_cards_at_different_sockets_are_no_twins() -> None:
    def node(number: int) -> Facts:
        cards = [("enP6p3s0f0np0", 0), ("enP22p3s0f0np0", 1)]
        return host(
            f"n{number}",
            nic("enP6p3s0f0np0", f"10.0.0.{number}/24", numa_node=0),
            nic("enP22p3s0f0np0", numa_node=1),
            rdma=[roce(f"mlx5_{numa}", name, numa_node=numa) for name, numa in cards],
        )

    assert plan([node(1), node(2)])["hosts"]["n1"]["hcas"] == ["mlx5_0:1"]


def test_ipv6_serves_where_there_is_no_ipv4() -> None:
    result = plan([host(f"n{i}", nic("eth0", f"fe80::{i}/64", f"fd93::{i}/64")) for i in (1, 2)])

    assert result["network"]["cidr"] == "fd93::/64"
    assert result["network"]["family"] == 6
    assert chosen(result)["n1"] == ("eth0", "fd93::1")


def test_ipv4_wins_on_hosts_that_have_both() -> None:
    result = plan(
        [host(f"n{i}", nic("eth0", f"2001:db8::{i}/64", f"192.0.2.{i}/24")) for i in (1, 2)]
    )

    assert chosen(result)["n1"] == ("eth0", "192.0.2.1")
    assert result["hosts"]["n1"]["rejected"] == [
        {
            "interface": "eth0",
            "address": "2001:db8::1",
            "because": "IPv6 is not the family of the interconnect",
        }
    ]


def test_point_to_point_ends_are_taken_as_routed_when_routes_agree() -> None:
    def node(number: int, via: str) -> Facts:
        return host(
            f"n{number}",
            nic("enp90s0np0", f"10.168.206.{number * 10}/31"),
            nic("eth9", f"10.9.{number}.1/24"),
            routes=[
                {"destination": "default", "interface": via, "gateway": "10.0.0.1"},
                {"destination": f"10.9.{number}.0/24", "interface": "eth9"},
            ],
        )

    result = plan([node(1, "enp90s0np0"), node(2, "enp90s0np0")])
    elsewhere = plan([node(1, "enp90s0np0"), node(2, "eth9")])

    assert chosen(result)["n1"] == ("enp90s0np0", "10.168.206.10")
    assert warnings(result) == ["routed"]
    assert elsewhere["error"]["code"] == "no_common_subnet"


def test_primary_interface_of_cloud_instances_wins() -> None:
    def instance(number: int) -> Facts:
        return host(
            f"n{number}",
            nic("ens5", f"10.0.0.{number}/20", driver="ena"),
            nic("ens6", f"10.0.16.{number}/20", driver="ena"),
            default_route_interface="ens5",
        )

    result = plan([instance(1), instance(2)])

    assert chosen(result)["n1"] == ("ens5", "10.0.0.1")
    assert result["hosts"]["n1"]["rejected"][0]["because"] == (
        "10.0.16.0/20 is not the primary network of the cloud instances"
    )


def test_gloo_takes_ipv4_where_an_interface_has_both_families() -> None:
    facts = [
        host(f"n{number}", nic("eth1", f"10.{number}.0.1/24", f"fd00:9::{number}/64"))
        for number in (1, 2)
    ]
    result = plan(facts, network="fd00:9::/64")
    assert chosen(result)["n1"] == ("eth1", "fd00:9::1")
    assert [each["message"] for each in result["warnings"]] == [
        f"Gloo takes the IPv4 address of eth1, 10.{number}.0.1, not fd00:9::{number}; remove it from the "
        "interface, or use a network of IPv4"
        for number in (1, 2)
    ]


def test_warnings_name_what_will_cost_or_break() -> None:
    def node(number: int, mtu: int) -> Facts:
        addresses = [f"10.0.9.{number}/24", f"169.254.0.{number}/16"]
        return host(
            f"n{number}", nic("eth0", *addresses[number == 1 :], mtu=mtu, speed_mbps=100000)
        )

    result = plan([node(1, 1500), node(2, 9000)])

    assert result["warnings"] == [
        {
            "code": "address_not_first",
            "host": "n2",
            "message": "NCCL takes the first address of eth0, 10.0.9.2, not 169.254.0.2; "
            "put 169.254.0.2 first",
        },
        {
            "code": "link_local",
            "host": None,
            "message": "link-local addresses may change at a reboot; set fixed ones",
        },
        {
            "code": "mtu_mismatch",
            "host": None,
            "message": "the interconnect has different MTUs (n1 1500, n2 9000); make them equal",
        },
    ]


def test_small_frames_on_a_fast_port_are_worth_a_warning() -> None:
    hosts = [
        host(f"n{i}", nic("eth0", f"10.0.0.{i}/24", mtu=1500, speed_mbps=100000)) for i in (1, 2)
    ]

    assert plan(hosts)["warnings"] == [
        {
            "code": "small_mtu",
            "host": None,
            "message": "MTU 1500 costs bandwidth on a fast port; 9000 is usual",
        }
    ]


def test_second_network_of_one_host_is_only_a_warning() -> None:
    hosts = [
        host("n1", nic("lan", "10.0.0.1/24"), nic("spare", "10.5.0.1/24")),
        host("n2", nic("lan", "10.0.0.2/24")),
    ]
    for each in hosts:
        each["default_route_interface"] = "lan"

    assert plan(hosts)["warnings"] == [
        {
            "code": "network_not_on_all_hosts",
            "host": None,
            "message": "10.5.0.0/24 joins only n1, so the interconnect is the network of the "
            "default route; for 10.5.0.0/24, give n2 an address in it",
        }
    ]


def test_interface_pins_choose_and_may_cross_networks() -> None:
    same = plan(LAB, interfaces={"node0": "enP7s7"})
    crossed = plan(LAB, interfaces={"node0": "enP7s7", "node1": "enp1s0f1np1"})

    assert chosen(same)["node1"] == ("enP7s7", "10.213.1.181")
    assert same["network"]["chosen_because"] == [
        "interconnect_interface is set: node0 enP7s7",
        "every host has an address in it",
    ]
    assert crossed["network"]["cidr"] == "10.213.0.0/22"
    assert warnings(crossed) == ["routed"]


def test_pin_settles_two_interfaces_in_one_network() -> None:
    hosts = [
        host("n1", nic("eth0", "10.0.0.1/24"), nic("eth1", "10.0.0.9/24")),
        host("n2", nic("eth0", "10.0.0.2/24")),
    ]

    result = plan(hosts, interfaces={"n1": "eth1"})

    assert chosen(result)["n1"] == ("eth1", "10.0.0.9")
    assert result["warnings"] == [
        {
            "code": "two_nics_one_subnet",
            "host": "n1",
            "message": "eth0 is in 10.0.0.0/24 too, and the kernel may send through it",
        }
    ]


def test_pinned_wifi_is_accepted() -> None:
    hosts = [host(f"n{i}", nic("wlan0", f"10.0.0.{i}/24")) for i in (1, 2)]

    assert warnings(plan(hosts, network="10.0.0.0/24")) == ["overlay_or_wifi"]


def test_single_host_serves_alone_when_meant_to() -> None:
    found = _interconnect.plan(
        _topology.parse_cluster({"hosts": LAB[:1]}), "lab", _interconnect.Pins(alone=True)
    )
    assert isinstance(found, _interconnect.Plan)
    assert found.transport == "socket"
    assert found.hosts["node0"].address in ("10.213.1.180", "10.213.2.12")
    assert found.network.chosen_because[0] == (
        "the host is alone, and any address of its own will do"
    )


def test_single_host_serves_alone_when_pinned() -> None:
    assert chosen(plan(LAB[:1], network="10.213.2.0/24")) == {
        "node0": ("enp1s0f0np0", "10.213.2.12")
    }


def _changed(hosts: list[Facts], name: str, interface: str, *addresses: str) -> list[Facts]:
    """The hosts, with other addresses on one interface."""
    changed = copy.deepcopy(hosts)
    for each in changed:
        for own in each["interfaces"] if each["name"] == name else ():
            if own["name"] == interface:
                own["addresses"] = list(addresses)
    return changed


def _pair(*interfaces: tuple[Facts, Facts], **more: Any) -> list[Facts]:
    return [
        host("a", *(first for first, _ in interfaces), **more),
        host("b", *(second for _, second in interfaces), **more),
    ]


ETH = (nic("eth0", "10.0.0.1/24"), nic("eth0", "10.0.0.2/24"))
NO_ADDRESS = _changed(_changed(SPARKS, "spark0", "enp1s0f0np0"), "spark1", "enp1s0f1np1")

REFUSED: list[tuple[str, list[Facts], dict[str, Any], str, list[str], str]] = [
    (
        "no host",
        [],
        {},
        "insufficient_facts",
        [],
        "The facts name no host; gather them from each host.",
    ),
    (
        "one host",
        LAB[:1],
        {},
        "single_host",
        ["node0"],
        "node0 is the only host, so no network is shared; add a host, or set "
        "interconnect_network to the one to use on it alone.",
    ),
    (
        "a host without facts",
        [LAB[0], {"name": "node1", "absent": {"interfaces": "ip is not installed"}}],
        {},
        "insufficient_facts",
        ["node1"],
        "The facts of node1 state no usable address (ip is not installed); gather them on the "
        "host itself.",
    ),
    (
        "a host without a fabric address",
        [LAB[0], lab_node(1)],
        {},
        "no_common_subnet",
        ["node1"],
        "10.213.2.0/24 joins node0, but node1 has no usable address in it (node1 has "
        "10.213.1.181/24 on enP7s7, and enp1s0f1np1 up without an address); add one, or set "
        "interconnect_network to 10.213.1.0/24 to use the network of the default route.",
    ),
    (
        "networks that do not meet",
        _pair((nic("eth0", "10.136.80.18/26"), nic("eth0", "10.136.80.68/26"))),
        {},
        "no_common_subnet",
        ["b"],
        "No network joins all hosts: 10.136.80.0/26 joins a, but b has no usable address in it "
        "(b has 10.136.80.68/26 on eth0); add one, or where routers join the networks set "
        "interconnect_interface on every host.",
    ),
    (
        "all links down",
        _pair((nic("eth0", "10.0.0.1/24", state="down"), nic("eth0", "10.0.0.2/24", state="down"))),
        {},
        "no_common_subnet",
        ["a", "b"],
        "No host has a usable address (a: 10.0.0.1/24 on eth0; b: 10.0.0.2/24 on eth0); give "
        "each host an address in one network.",
    ),
    (
        "two equal networks",
        _pair(ETH, (nic("eth1", "10.0.1.1/24"), nic("eth1", "10.0.1.2/24"))),
        {},
        "ambiguous",
        ["a", "b"],
        "10.0.0.0/24 and 10.0.1.0/24 each join all hosts, and no speed, RDMA port or default "
        "route tells them apart; set interconnect_network to one of them.",
    ),
    (
        "two interfaces in one network",
        _pair(ETH, (nic("eth1", "10.0.0.11/24"), nic("eth1"))),
        {},
        "two_nics_one_subnet",
        ["a"],
        "a has eth0 and eth1 in 10.0.0.0/24, and its kernel sends through whichever route "
        "comes first; move one to another network, or set interconnect_interface of a.",
    ),
    (
        "fast ports without addresses",
        NO_ADDRESS,
        {},
        "active_port_without_address",
        ["spark0", "spark1"],
        "Fast ports are up but carry no IP address (spark0: enp1s0f0np0, enP2p1s0f0np0; spark1: "
        "enp1s0f1np1, enP2p1s0f1np1); give one of them on each host an address in a network of "
        "its own, or set interconnect_network to use another network.",
    ),
    (
        "one address on two fabrics",
        _changed(SPARKS, "spark1", "enp1s0f1np1", "192.168.200.12/24"),
        {},
        "host_local_subnet",
        ["spark0"],
        "spark0 has 192.168.200.12/24 on enp1s0f0np0, but spark1 has the same address, so no "
        "packet finds its way between them; give each host an address of its own.",
    ),
    (
        "one address and nothing else",
        _pair((nic("eth0", "10.0.2.15/24"), nic("eth0", "10.0.2.15/24"))),
        {},
        "host_local_subnet",
        ["a", "b"],
        "a has 10.0.2.15/24 on eth0, but b has the same address, so no packet finds its way "
        "between them; give each host an address of its own.",
    ),
    (
        "Docker's bridge",
        _pair((nic("eth0", "172.17.0.2/16", type="veth"), nic("eth0", "172.17.0.3/16"))),
        {},
        "host_local_subnet",
        ["a"],
        "a offers only 172.17.0.2/16 on eth0, which no other host can reach: it is in the "
        "network of Docker's default bridge, which exists on every host; use the host's own "
        "network.",
    ),
    (
        "Wi-Fi",
        _pair((nic("wlan0", "10.0.0.1/24"), nic("wlp3s0", "10.0.0.2/24"))),
        {},
        "overlay_or_wifi_only",
        ["a", "b"],
        "Only Wi-Fi or tunnels join all hosts (a: wlan0; b: wlp3s0); give the wired ports "
        "addresses in one network, or set interconnect_network to accept a slow one.",
    ),
    (
        "addresses on lo",
        _pair((nic("lo", "127.0.0.1/8", "203.0.113.10/32"), nic("lo", "203.0.113.11/32"))),
        {},
        "address_only_on_loopback",
        ["a"],
        "a has its address 203.0.113.10/32 on lo only, where NCCL finds 127.0.0.1 first; move "
        "it to a dummy interface.",
    ),
    (
        "two families",
        _pair((nic("eth0", "10.0.0.1/24"), nic("eth0", "2001:db8::1/64"))),
        {},
        "address_family_conflict",
        ["a", "b"],
        "The hosts have no address family in common (a IPv4; b IPv6); give all of them IPv4.",
    ),
    (
        "rails that do not meet",
        [
            host(
                name,
                nic("lan", f"10.0.0.{number}/24"),
                nic("eth1", f"{rail}/24"),
                rdma=[roce("mlx5_0", "eth1")],
            )
            for number, (name, rail) in enumerate((("a", "10.1.0.1"), ("b", "10.2.0.1")), start=1)
        ],
        {},
        "rails_not_routed",
        ["a", "b"],
        "The RDMA ports of the hosts share no network (a 10.1.0.0/24; b 10.2.0.0/24); give them "
        "addresses in one network per rail, or set interconnect_network to use sockets only.",
    ),
    (
        "no CIDR",
        LAB,
        {"network": "10.213.2.1/24"},
        "invalid_pin",
        [],
        "interconnect_network is '10.213.2.1/24', which is not a network; write its first "
        "address and prefix length, such as 192.168.200.0/24.",
    ),
    (
        "a network that a host lacks",
        LAB,
        {"network": "10.213.2.12/32"},
        "invalid_pin",
        ["node1"],
        "interconnect_network is 10.213.2.12/32, but node1 has no usable address in it (it has "
        "10.213.1.181/24 on enP7s7, 10.213.2.13/24 on enp1s0f1np1); give it one, or set another "
        "network.",
    ),
    (
        "a network inside the host",
        LAB,
        {"network": "172.17.0.0/16"},
        "invalid_pin",
        ["node0"],
        "interconnect_network is 172.17.0.0/16, but node0 has no usable address in it "
        "(172.17.0.1 on docker0 cannot be used: it is a bridge inside this host); give it one, "
        "or set another network.",
    ),
    (
        "an interface that is not there",
        LAB,
        {"interfaces": {"node0": "eth9"}},
        "invalid_pin",
        ["node0"],
        "interconnect_interface of node0 is eth9, which node0 does not have; it has docker0, "
        "enP7s7, enp1s0f0np0.",
    ),
    (
        "an interface that cannot serve",
        LAB,
        {"interfaces": {"node0": "docker0"}},
        "invalid_pin",
        ["node0"],
        "interconnect_interface of node0 is docker0, which cannot be used: it is a bridge inside "
        "this host; name another interface.",
    ),
    (
        "a host that is not there",
        LAB,
        {"interfaces": {"node7": "eth0"}},
        "invalid_pin",
        ["node7"],
        "interconnect_interface is set for node7, which is not a host of the cluster; its hosts "
        "are node0, node1.",
    ),
]


@pytest.mark.parametrize(
    ("hosts", "pins", "code", "names", "message"),
    [case[1:] for case in REFUSED],
    ids=[case[0] for case in REFUSED],
)
def test_refusal_says_what_where_and_the_cure(
    hosts: list[Facts], pins: dict[str, Any], code: str, names: list[str], message: str
) -> None:
    assert plan(hosts, **pins) == {
        "schema": "samewire.plan/1",
        "error": {"code": code, "message": message, "hosts": names},
    }


def test_the_host_in_the_wrong_network_is_the_one_that_is_named() -> None:
    hosts = [
        host(
            f"n{number}",
            nic("eno1", f"10.0.0.{number}/24", speed_mbps=1000),
            nic("ens1", f"10.{8 if number == 3 else 9}.0.{number}/24", speed_mbps=100000),
            default_route_interface="eno1",
        )
        for number in (1, 2, 3)
    ]
    assert plan(hosts)["error"] == {
        "code": "no_common_subnet",
        "message": "10.9.0.0/24 joins n1, n2, but n3 has no usable address in it (n3 has 10.0.0.3/24 on "
        "eno1, 10.8.0.3/24 on ens1); add one, or set interconnect_network to 10.0.0.0/24 to use the network "
        "of the default route.",
        "hosts": ["n3"],
    }


def test_network_of_two_hosts_is_a_fabric_that_the_third_lacks() -> None:
    hosts = [host(f"n{i}", nic("lan", f"10.0.0.{i}/24", is_default_route=True)) for i in (1, 2, 3)]
    for number, each in enumerate(hosts[:2], start=1):
        each["interfaces"].append(nic("eth1", f"192.168.200.{number}/24"))

    assert plan(hosts)["error"]["hosts"] == ["n3"]
    assert plan(hosts, network="10.0.0.0/24")["network"]["cidr"] == "10.0.0.0/24"


def _railed(*rails: str, pin: str | None = None) -> dict[str, Any]:
    """Hosts on one LAN, each with one RoCE port that has the given address (or none)."""
    hosts = [
        host(
            f"n{number}",
            nic("lan", f"10.0.0.{number}/24"),
            nic("eth1", *filter(None, [rail])),
            rdma=[roce("mlx5_0", "eth1")],
        )
        for number, rail in enumerate(rails, start=1)
    ]
    return plan(hosts, network=pin)


def test_rails_behind_routers_are_used_with_a_warning() -> None:
    result = _railed("10.1.1.0/31", "10.1.2.0/31")

    assert result["hosts"]["n2"]["hcas"] == ["mlx5_0:1"]
    assert result["hosts"]["n2"]["rail_networks"] == ["10.1.2.0/31"]
    assert result["warnings"] == [
        {
            "code": "rails_routed",
            "host": None,
            "message": "the RDMA ports share no network and are taken as routed; prove every rail "
            "before use",
        }
    ]


@pytest.mark.parametrize(
    ("rails", "because"),
    [
        (("", ""), "its interface has no address"),
        (("10.1.0.1/24", "10.2.0.1/24"), "its network joins no other host"),
        (("10.1.0.1/24", "10.1.0.2/24", "10.2.0.1/24"), "its network joins only some hosts"),
        (("10.1.0.1/24", ""), "n2 has no RDMA port to match"),
    ],
)
def test_pinned_network_leaves_out_rails_that_cannot_work(
    rails: tuple[str, ...], because: str
) -> None:
    result = _railed(*rails, pin="10.0.0.0/24")

    assert result["transport"] == "socket"
    assert result["hosts"]["n1"]["rejected_hcas"] == [{"hca": "mlx5_0:1", "because": because}]


def test_rails_of_pairs_only_are_refused() -> None:
    assert _railed("10.1.0.1/24", "10.1.0.2/24", "10.2.0.1/24")["error"] == {
        "code": "no_common_subnet",
        "message": "The fast networks each join only some of the hosts (n1 10.1.0.0/24; n2 "
        "10.1.0.0/24; n3 10.2.0.0/24), and NCCL needs one that joins all, or both PCI twins of "
        "every cable addressed; connect them through one network, or set interconnect_network "
        "to use sockets on the network that all share.",
        "hosts": ["n1", "n2", "n3"],
    }


def test_ring_of_three_with_both_twins_addressed_uses_all_rails() -> None:
    cables = {"spark0": (0, 1), "spark1": (2, 0), "spark2": (1, 2)}

    def ringed(name: str, end: int) -> Facts:
        interfaces = [nic("enP7s7", f"10.0.0.{end}/24", is_default_route=True)]
        ports = []
        for function, cable in enumerate(cables[name]):
            for twin, domain in enumerate(("", "P2")):
                netdev = f"en{domain}p1s0f{function}np{function}"
                interfaces.append(nic(netdev, f"192.168.{2 * cable + twin}.{end}/24"))
                ports.append(roce(f"roce{domain}p1s0f{function}", netdev))
        return host(name, *interfaces, rdma=ports)

    result = plan([ringed(name, end) for end, name in enumerate(cables, start=1)])

    assert result["network"]["cidr"] == "10.0.0.0/24"
    assert result["hosts"]["spark2"]["hcas"] == [
        "rocep1s0f0:1",
        "rocep1s0f1:1",
        "roceP2p1s0f0:1",
        "roceP2p1s0f1:1",
    ]
    assert result["warnings"] == [
        {
            "code": "rails_point_to_point",
            "host": None,
            "message": "each RDMA network joins one pair of hosts: NCCL 2.30 or later with "
            "NCCL_IB_SUBNET_AWARE_ROUTING=1 and NCCL_IB_MERGE_NICS=0 is needed",
        }
    ]


@pytest.mark.parametrize(
    ("interface", "because"),
    [
        (nic("br-0123456789ab", "172.18.0.1/16"), "it is a bridge inside this host"),
        (nic("br0", "10.5.0.1/24", type="bridge"), "it is a bridge inside this host"),
        (
            nic("eth9", "172.19.0.5/16", type="veth"),
            "it is in a network that Docker makes inside each host",
        ),
        (
            nic("enx0", "169.254.3.1/24", driver="cdc_ether", type="usb"),
            "it is the USB link to this host's management controller",
        ),
        (
            nic("eth9", "172.28.16.3/20", driver="hv_netvsc"),
            "it is behind the NAT of this host's virtual machine",
        ),
    ],
)
def test_address_inside_one_host_is_rejected(interface: Facts, because: str) -> None:
    inside = nic("tap0", type="tun", master="br0")
    hosts = [host(f"n{i}", nic("a0", f"10.0.0.{i}/24"), interface, inside) for i in (1, 2)]

    rejected = plan(hosts)["hosts"]["n1"]["rejected"]

    assert next(e for e in rejected if e["interface"] == interface["name"])["because"] == because


def test_usb_adapter_with_a_driver_of_its_own_is_a_wired_port() -> None:
    hosts = [
        host(f"n{i}", nic("enx0", f"10.0.0.{i}/24", driver="r8152", type="usb")) for i in (1, 2)
    ]

    assert chosen(plan(hosts))["n1"] == ("enx0", "10.0.0.1")


def test_addresses_that_come_second_say_to_what() -> None:
    def node(number: int) -> Facts:
        first = nic("enp1s0f0np0", f"10.0.0.{number}/24", f"10.0.0.{number + 10}/24")
        twin = nic("enP2p1s0f0np0", f"10.0.0.{number + 20}/24")
        return host(f"n{number}", first, twin, nic("eth9", f"10.9.{number}.1/24"))

    rejected = plan([node(1), node(2)])["hosts"]["n1"]["rejected"]

    assert {each["address"]: each["because"] for each in rejected} == {
        "10.0.0.11": "10.0.0.1 on the same interface comes first",
        "10.0.0.21": "enp1s0f0np0 is in the same network and comes first",
        "10.9.1.1": "10.9.1.0/24 does not join all hosts",
    }
