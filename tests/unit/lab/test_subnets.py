# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Collisions of the lab's subnets with what the machine uses."""

from ipaddress import IPv4Network

import pytest

from samewire_lab import spec, subnets
from samewire_lab.subnets import Used

WANTED = (spec.MANAGEMENT_SUBNET, spec.FABRIC_SUBNET)
# A default route, 192.0.2.0/24 on eth0, 10.213.2.0/24 on eno1.
ROUTES = """\
Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	010200C0	0003	0	0	0	00000000	0	0	0
eth0	000200C0	00000000	0001	0	0	0	00FFFFFF	0	0	0
eno1	0002D50A	00000000	0001	0	0	0	00FFFFFF	0	0	0
"""


def used(network: str, owner: str) -> Used:
    return Used(IPv4Network(network), owner)


def test_routes_are_read_without_the_default_route() -> None:
    assert subnets.routes(ROUTES) == [
        used("192.0.2.0/24", "interface eth0"),
        used("10.213.2.0/24", "interface eno1"),
    ]


def test_no_collision() -> None:
    assert subnets.collision(WANTED, [used("172.17.0.0/16", "Docker network bridge")]) is None


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (
            used("10.213.2.0/24", "interface eno1"),
            "The lab's network 10.213.2.0/24 overlaps 10.213.2.0/24 of interface eno1 on this "
            "machine; free that network, or run the lab on another machine.",
        ),
        (
            used("10.0.0.0/8", "interface tun0"),
            "The lab's network 10.213.1.0/24 overlaps 10.0.0.0/8 of interface tun0 on this "
            "machine; free that network, or run the lab on another machine.",
        ),
        (
            used("10.213.1.128/25", "Docker network shop"),
            "The lab's network 10.213.1.0/24 overlaps 10.213.1.128/25 of Docker network shop on "
            "this machine; free that network, or run the lab on another machine.",
        ),
    ],
)
def test_a_collision_is_one_sentence(other: Used, sentence: str) -> None:
    assert subnets.collision(WANTED, [other]) == sentence


def test_networks_that_exist_already_are_not_wanted() -> None:
    assert subnets.collision((), [used("10.213.1.0/24", "interface br0")]) is None
