# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What holds for the plan of every cluster."""

from __future__ import annotations

import copy
import ipaddress
import random
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ansible_collections.samewire.vllm.plugins.module_utils import _interconnect, _topology

Hosts = list[dict[str, Any]]
# On a loaded machine any one example may take long; these tests are about answers, not about time.
steady = settings(deadline=None)
SPEEDS = st.sampled_from([None, 1000, 10000, 100000])


@st.composite
def clusters(draw: st.DrawFn) -> Hosts:
    """Two to four hosts on up to three networks, with gaps, RDMA ports and default routes."""
    count = draw(st.integers(2, 4))
    hosts: Hosts = [{"name": f"n{number}", "interfaces": [], "rdma": []} for number in range(count)]
    for network in range(draw(st.integers(1, 3))):
        speed, rdma = draw(SPEEDS), draw(st.booleans())
        for number, host in enumerate(hosts):
            name = f"eth{(network + draw(st.integers(0, 1)) * number) % 4 + 10 * network}"
            present = draw(st.integers(0, 9)) > 0
            addresses = [f"10.{network}.0.{number + 1}/24"] if present else []
            host["interfaces"].append(
                {"name": name, "state": "up", "addresses": addresses, "speed_mbps": speed}
            )
            if rdma:
                host["rdma"].append(
                    {"device": f"mlx5_{network}", "link_layer": "Ethernet", "netdev": name}
                )
            if network == 0 and draw(st.booleans()):
                host["default_route_interface"] = name
    return hosts


def plan(hosts: Hosts) -> dict[str, Any]:
    return _interconnect.to_json(_interconnect.plan(_topology.parse_cluster({"hosts": hosts})))


@steady
@given(clusters(), st.randoms(use_true_random=False))
def test_order_of_hosts_and_interfaces_does_not_matter(hosts: Hosts, dice: random.Random) -> None:
    shuffled = copy.deepcopy(hosts)
    dice.shuffle(shuffled)
    for host in shuffled:
        dice.shuffle(host["interfaces"])
        dice.shuffle(host["rdma"])

    assert plan(shuffled) == plan(hosts)


@steady
@given(clusters())
def test_network_contains_every_address_once(hosts: Hosts) -> None:
    result = plan(hosts)
    if "error" in result:
        return
    addresses = [ipaddress.ip_address(host["address"]) for host in result["hosts"].values()]
    assert len(set(addresses)) == len(hosts)
    assert all(each in ipaddress.ip_network(result["network"]["cidr"]) for each in addresses)


@steady
@given(clusters())
def test_rdma_is_planned_for_all_hosts_or_none(hosts: Hosts) -> None:
    result = plan(hosts)
    if "error" in result:
        return
    assert {bool(host["hcas"]) for host in result["hosts"].values()} == {
        result["transport"] == "rdma"
    }


@steady
@given(clusters())
def test_interface_inside_a_host_changes_no_choice(hosts: Hosts) -> None:
    assume(all(any(each["addresses"] for each in host["interfaces"]) for host in hosts))
    extended = copy.deepcopy(hosts)
    for host in extended:
        host["interfaces"].append(
            {"name": "docker0", "type": "bridge", "state": "up", "addresses": ["172.17.0.1/16"]}
        )
    before, after = plan(hosts), plan(extended)

    assert before.get("error") == after.get("error")
    assert before.get("network") == after.get("network")
    for name, host in before.get("hosts", {}).items():
        kept = ("address", "interface", "hcas", "gid_index")
        assert [host[key] for key in kept] == [after["hosts"][name][key] for key in kept]


@steady
@given(clusters())
def test_names_of_hosts_change_no_choice(hosts: Hosts) -> None:
    renamed = copy.deepcopy(hosts)
    for number, host in enumerate(renamed):
        host["name"] = f"z{9 - number}"
    before, after = plan(hosts), plan(renamed)

    assert before.get("error", {}).get("code") == after.get("error", {}).get("code")
    assert before.get("network") == after.get("network")
    for number, name in enumerate(before.get("hosts", {})):
        assert before["hosts"][name]["address"] == after["hosts"][f"z{9 - number}"]["address"]
