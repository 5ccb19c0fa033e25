# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Why hosts are not given addresses, word by word."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _network_setup as setup
from ansible_collections.samewire.vllm.plugins.module_utils._network_files import Setup

FABRIC, MANAGEMENT = "enp1s0f0np0", "enP7s7"
IN = "correct it in interconnect_network_setup_links"
ANOTHER = "name another one in interconnect_network_setup_links"


def facts(number: int, **changes: Any) -> dict[str, Any]:
    """Return what a DGX Spark says whose fabric has no address yet."""
    interfaces = [
        {"name": "lo", "type": "loopback", "addresses": ["127.0.0.1/8"]},
        {"name": MANAGEMENT, "type": "ethernet", "addresses": [f"10.1.230.{number}/24"]},
        {"name": FABRIC, "type": "ethernet", "addresses": []},
        {"name": "enp1s0f1np1", "type": "ethernet", "addresses": []},
        {"name": "docker0", "type": "bridge", "addresses": ["172.17.0.1/16"]},
        {"name": "veth12ab34c", "type": "veth", "addresses": []},
        {"name": "eth5", "type": "ethernet", "master": "bond0"},
        {"name": "bond0", "type": "bond", "addresses": []},
        {"name": "stacked", "type": "vlan", "parent": "eth6", "addresses": ["10.7.7.7/24"]},
        {"name": "eth6", "type": "ethernet", "addresses": []},
    ]
    link = {
        "up": True,
        "carrier": True,
        "mac": "02:00:00:00:00:01",
        "mtu": 1500,
        "min_mtu": 68,
        "max_mtu": 9978,
        "addresses": [],
    }
    return {
        "host": {
            "interfaces": interfaces,
            "default_route_interface": MANAGEMENT,
            "routes": [],
        },
        "links": {each["name"]: link for each in interfaces},
        "networks": [[MANAGEMENT, "10.1.230.0/24"], ["docker0", "172.17.0.0/16"]],
        "ssh": f"10.1.230.{number}",
        "manager": "netplan",
        "owners": {},
        "made": {},
        "problems": [],
        **changes,
    }


def wanted(number: int, **changes: Any) -> list[dict[str, Any]]:
    link = {"interface": FABRIC, "address": f"192.168.200.{number}/24", "mtu": 9000, **changes}
    return [{key: value for key, value in link.items() if value is not None}]


def asked(number: int, asks: Any = None, reached_by: str = "", **changes: Any) -> setup.Asked:
    entries, problems = setup.parse(f"spark{number}", wanted(number) if asks is None else asks)
    assert problems == []
    return setup.Asked(f"spark{number}", entries, facts(number, **changes), reached_by)


def test_two_hosts_with_a_cable() -> None:
    assert setup.problems([asked(1), asked(2)], 60) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"interface": "enp9"},
            "there is no interface enp9, expected one of enP7s7, enp1s0f0np0, enp1s0f1np1, eth5, eth6; "
            + IN,
        ),
        (
            {"interface": "lo"},
            f"lo is of kind loopback, expected an Ethernet interface of the fabric; {ANOTHER}",
        ),
        (
            {"interface": "docker0"},
            f"docker0 is of kind bridge, expected an Ethernet interface of the fabric; {ANOTHER}",
        ),
        (
            {"interface": "veth12ab34c"},
            f"veth12ab34c is of kind veth, expected an Ethernet interface of the fabric; {ANOTHER}",
        ),
        (
            {"interface": "eth5"},
            f"eth5 is a port of bond0, expected an interface by itself; {ANOTHER}",
        ),
        (
            {"interface": MANAGEMENT},
            "enP7s7 is the interface by which Ansible reaches the host (10.1.230.1), expected one of the "
            f"fabric; {ANOTHER}",
        ),
        (
            {"address": "192.168.200.0/24"},
            "192.168.200.0/24 of enp1s0f0np0 stands for the network 192.168.200.0/24, expected an address of "
            f"a host in it as 192.168.200.1/24; {IN}",
        ),
        (
            {"address": "192.168.200.255/24"},
            "192.168.200.255/24 of enp1s0f0np0 stands for the network 192.168.200.0/24, expected an address "
            f"of a host in it as 192.168.200.1/24; {IN}",
        ),
        (
            {"address": "224.0.0.1/24"},
            f"224.0.0.1/24 of enp1s0f0np0 is no address of a host, expected one; {IN}",
        ),
        (
            {"address": "fe80::1/64"},
            "fe80::1/64 of enp1s0f0np0 is link-local, which cannot be used without its interface, expected "
            f"one as fd00::1/64; {IN}",
        ),
        (
            {"mtu": 9979},
            "enp1s0f0np0 would have MTU 9979, expected 68 to 9978, which the device can; " + IN,
        ),
        (
            {"address": "fd00::1/64", "mtu": 1279},
            "enp1s0f0np0 would have MTU 1279, expected 1280 to 9978, which the device can; " + IN,
        ),
        (
            {"address": "10.1.0.1/16"},
            "10.1.0.0/16 of enp1s0f0np0 overlaps 10.1.230.0/24, which the host reaches over enP7s7, expected "
            "a network that it does not know; choose another one in interconnect_network_setup_links",
        ),
    ],
)
def test_one_host(changes: dict[str, Any], said: str) -> None:
    assert setup.problems([asked(1, wanted(1, **changes)), asked(2)], 60) == [f"spark1: {said}"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"ssh": "", "host": {**facts(1)["host"], "default_route_interface": FABRIC}},
            f"the default route leads over {FABRIC}, expected an interface of the fabric; {ANOTHER}",
        ),
        (
            {"links": {FABRIC: {**facts(1)["links"][FABRIC], "carrier": False}}},
            "enp1s0f0np0 has no carrier, expected a link that is up; check its cable and the port at the "
            "other end, and run ip link set enp1s0f0np0 up on the host",
        ),
        (
            {"owners": {FABRIC: "/etc/network/interfaces"}},
            "/etc/network/interfaces configures enp1s0f0np0 already, expected no other file to do so; remove "
            "enp1s0f0np0 there, or keep that file and remove enp1s0f0np0 from "
            "interconnect_network_setup_links",
        ),
        ({"problems": ["ping is not installed"]}, "ping is not installed"),
    ],
)
def test_what_the_host_says(changes: dict[str, Any], said: str) -> None:
    assert setup.problems([asked(1, **changes), asked(2)], 60) == [f"spark1: {said}"]


def test_the_interface_below_the_one_that_ansible_uses() -> None:
    for where in ({"ssh": "10.7.7.7"}, {"ssh": "", "reached_by": "10.7.7.7"}):
        found = setup.problems([asked(1, wanted(1, interface="eth6"), **where), asked(2)], 60)
        assert found == [
            "spark1: eth6 is the interface by which Ansible reaches the host (10.7.7.7), expected one of the "
            f"fabric; {ANOTHER}"
        ]


def test_one_interface_has_one_mtu_and_networks_do_not_meet() -> None:
    two = [*wanted(1), *wanted(1, address="192.168.201.1/24", mtu=4000)]
    assert setup.problems([asked(1, two)], 60) == [
        f"spark1: enp1s0f0np0 has MTUs 9000 and 4000, expected one; {IN}"
    ] * len(two)
    two = [*wanted(1), *wanted(1, interface="enp1s0f1np1", address="192.168.200.3/25")]
    assert setup.problems([asked(1, two)], 60)[0] == (
        "spark1: 192.168.200.1/24 of enp1s0f0np0 and 192.168.200.3/25 of enp1s0f1np1 are in networks that "
        f"overlap, expected a network of its own for each; {IN}"
    )


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (
            {"address": "192.168.200.1/24"},
            f"192.168.200.1 is also that of enp1s0f0np0 on spark1, expected an address of its own; {IN}",
        ),
        ({"mtu": 4000}, "would have MTU 4000 in 192.168.200.0/24, spark1 has 9000, expected the same on "
            f"all hosts; {IN}"),
        ({"mtu": None}, "would have MTU 1500 in 192.168.200.0/24, spark1 has 9000, expected the same on "
            f"all hosts; {IN}"),
    ],
)  # fmt: skip
def test_all_hosts_together(second: dict[str, Any], said: str) -> None:
    found = setup.problems([asked(1), asked(2, wanted(2, **second))], 60)
    assert found == [f"spark2: {said}"]


def test_a_network_that_some_host_is_not_in() -> None:
    assert setup.problems([asked(1), asked(2, [])], 60) == [
        "spark2: interconnect_network_setup_links names no address in 192.168.200.0/24, where spark1 has "
        "one, expected one on every host; add it, or correct the network"
    ]


def test_an_address_that_another_host_has_already() -> None:
    other = asked(2)
    other.facts["host"]["interfaces"][3]["addresses"] = ["192.168.200.1/32"]
    assert setup.problems([asked(1), other], 60) == [
        f"spark1: 192.168.200.1 is also that of enp1s0f1np1 on spark2, expected an address of its own; {IN}"
    ]
    # Unless an earlier run made it, and this one takes it away.
    other.facts["made"]["enp1s0f1np1"] = ["192.168.200.1/32"]
    assert setup.problems([asked(1), other], 60) == []


def test_what_an_earlier_run_made_elsewhere_moves() -> None:
    changes = {"networks": [["enp1s0f1np1", "192.168.200.0/24"]]}
    assert len(setup.problems([asked(1, **changes), asked(2)], 60)) == 1
    made = {"made": {"enp1s0f1np1": ["192.168.200.1/24"]}}
    assert setup.problems([asked(1, **changes, **made), asked(2)], 60) == []


def test_nothing_to_do_and_no_time_for_it() -> None:
    assert setup.problems([asked(1, []), asked(2, [])], 29) == [
        "interconnect_network_setup_rollback is 29, expected 30 s or more, in which the hosts are asked over "
        "the new addresses; correct it in the inventory",
        "interconnect_network_setup_links is empty on all hosts, expected an interface and an address of "
        "each host; set it per host in the inventory",
    ]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("eth0", "holds 'eth0', expected interface, address and, where it is to be set, mtu"),
        (
            {"interface": "eth0"},
            "holds {'interface': 'eth0'}, expected interface, address and, where it is to be set, mtu",
        ),
        (
            {"interface": "a b", "address": "10.0.0.1/24"},
            "holds interface 'a b', expected the name of an interface of at most 15 letters, digits, '_', "
            "'.' and '-'",
        ),
        (
            {"interface": "eth0", "address": "192.168.200.12"},
            "holds address '192.168.200.12', expected one with its prefix as 192.168.200.12/24",
        ),
        (
            {"interface": "eth0", "address": "10.0.0.1/24", "mtu": "jumbo"},
            "holds mtu 'jumbo', expected bytes as 9000",
        ),
    ],
)
def test_entries_that_say_nothing(entry: Any, said: str) -> None:
    assert setup.parse("spark1", [entry]) == (
        [],
        [f"spark1: interconnect_network_setup_links {said}; correct it in the inventory"],
    )


def test_the_way_by_which_ansible_comes_is_not_removed() -> None:
    made = {"made": {FABRIC: ["192.168.200.1/24"]}}
    assert setup.absent_problems([asked(1, **made)]) == []
    assert setup.absent_problems([asked(1, **made, reached_by="192.168.200.1")]) == [
        "spark1: Ansible reaches it by an address that is to be removed from enp1s0f0np0, expected another "
        "one; set ansible_host to its address on the management network"
    ]


def test_what_each_interface_gets_and_whom_it_must_reach() -> None:
    both = [*wanted(1), *wanted(1, address="fd00:0::1/64", mtu=None)]
    entries, _ = setup.parse("spark1", both)
    assert setup.setups(entries) == [Setup(FABRIC, ("192.168.200.1/24", "fd00::1/64"), 9000)]
    other, _ = setup.parse("spark2", wanted(2, interface="enp1s0f1np1"))
    assert setup.targets({"spark1": entries, "spark2": other}, "spark1") == [
        {"host": "spark2", "address": "192.168.200.2", "interface": FABRIC}
    ]
