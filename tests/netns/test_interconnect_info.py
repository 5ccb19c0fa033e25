# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The facts and the plan of real interfaces, of each kind that this kernel can make."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.filter.cluster_plan import cluster_plan
from tests.netns.segment import INTERFACE, Segment

Namespace = str


def facts(segment: Segment, name: str) -> dict[str, Any]:
    # The namespace has a sysfs of its own, for "ip netns exec" mounts one.
    return dict(segment.module(name, "interconnect_info")["facts"])


def interfaces(said: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in said["interfaces"]}


@pytest.fixture
def pair(segment: Segment) -> Segment:
    segment.host("node0", mtu=9000)
    segment.host("node1", mtu=9000)
    return segment


@pytest.fixture
def node(pair: Segment) -> Namespace:
    return pair.full("node0")


@pytest.fixture
def add(pair: Segment, node: Namespace) -> Callable[[str], None]:
    """Return a function that makes an interface, or skips where this kernel has none of its type."""

    def make(words: str) -> None:
        try:
            pair.ip(node, f"link add {words}")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"this kernel makes no such interface ({words}): {error.stderr.strip()}")

    return make


def test_veth(pair: Segment) -> None:
    fabric = interfaces(facts(pair, "node0"))[INTERFACE]
    assert (fabric["type"], fabric["state"], fabric["mtu"]) == ("veth", "up", 9000)
    assert fabric["addresses"][0] == "10.77.0.1/24"


def test_link_without_carrier(pair: Segment) -> None:
    pair.ip(pair.switch, f"link set {pair.port_of('node0')} down")
    assert interfaces(facts(pair, "node0"))[INTERFACE]["state"] in ("down", "lowerlayerdown")


def test_bridge_and_its_port(pair: Segment, node: Namespace, add: Callable[[str], None]) -> None:
    add("br7 type bridge")
    add("inner type veth peer name outer")
    pair.ip(node, "link set inner master br7 up")
    pair.ip(node, "address add 172.31.0.1/24 dev br7")
    pair.ip(node, "link set br7 up")
    found = interfaces(facts(pair, "node0"))
    assert (found["br7"]["type"], found["br7"]["addresses"]) == ("bridge", ["172.31.0.1/24"])
    assert found["inner"]["master"] == "br7"


def test_macvlan_and_its_parent(pair: Segment, node: Namespace, add: Callable[[str], None]) -> None:
    add(f"mv0 link {INTERFACE} type macvlan mode bridge")
    pair.ip(node, "address add 10.78.0.1/24 dev mv0")
    pair.ip(node, "link set mv0 up")
    found = interfaces(facts(pair, "node0"))["mv0"]
    assert (found["type"], found["parent"]) == ("macvlan", INTERFACE)


def test_vlan_and_its_parent(pair: Segment, node: Namespace, add: Callable[[str], None]) -> None:
    add(f"link {INTERFACE} name {INTERFACE}.7 type vlan id 7")
    found = interfaces(facts(pair, "node0"))[f"{INTERFACE}.7"]
    assert (found["type"], found["parent"]) == ("vlan", INTERFACE)


def test_bond_and_its_ports(pair: Segment, node: Namespace, add: Callable[[str], None]) -> None:
    add("bond7 type bond mode active-backup")
    add("slave type veth peer name far")
    pair.ip(node, "link set slave master bond7")
    found = interfaces(facts(pair, "node0"))
    assert found["bond7"]["type"] == "bond"
    assert found["slave"]["master"] == "bond7"


def test_tunnel(pair: Segment, node: Namespace, add: Callable[[str], None]) -> None:
    add("vx7 type vxlan id 7 remote 10.77.0.2 dstport 4789")
    assert interfaces(facts(pair, "node0"))["vx7"]["type"] == "vxlan"


def test_routes_and_the_default_one(pair: Segment, node: Namespace) -> None:
    pair.ip(node, "route add default via 10.77.0.254")
    said = facts(pair, "node0")
    assert said["default_route_interface"] == INTERFACE
    assert {"destination": "10.77.0.0/24", "family": 4, "interface": INTERFACE} in said["routes"]


def test_dozens_of_interfaces_cost_little(
    pair: Segment, node: Namespace, add: Callable[[str], None]
) -> None:
    for number in range(40):
        add(f"v{number} type veth peer name w{number}")
    started = time.perf_counter()
    whole = facts(pair, "node0")
    took = time.perf_counter() - started
    started = time.perf_counter()
    pair.module("node0", "cluster_observation", host="node0")
    idle = time.perf_counter() - started
    assert len(whole["interfaces"]) >= 82
    # What a module costs by itself, the start of Python, is not the facts' cost; seconds.
    assert took - idle < 0.5


def test_the_plan_of_real_facts(pair: Segment, node: Namespace, add: Callable[[str], None]) -> None:
    add("docker0 type bridge")
    pair.ip(node, "address add 172.17.0.1/16 dev docker0")
    pair.ip(node, "link set docker0 up")
    plan = cluster_plan({name: facts(pair, name) for name in pair.hosts}, cluster="pair")
    assert plan["network"]["cidr"] == "10.77.0.0/24"
    assert {
        name: (entry["interface"], entry["address"]) for name, entry in plan["hosts"].items()
    } == {
        "node0": (INTERFACE, "10.77.0.1"),
        "node1": (INTERFACE, "10.77.0.2"),
    }
