# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What is tried: networks of two hosts, the variables that their ranks get, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_network

from bench.gpu.verdict import Outcome


@dataclass(frozen=True)
class Port:
    """An interface of both hosts on a wire of its own, in the order in which the kernel lists them.

    `names` are its names on the two hosts, `networks` those of its addresses, of which the hosts have 1
    and 2. Where it is not `joined`, the switch keeps the two hosts apart. The default route leads
    through the port that has a `gateway`.
    """

    names: tuple[str, str]
    networks: tuple[str, ...]
    mtu: int = 1500
    joined: bool = True
    gateway: bool = False

    def addresses(self, number: int) -> list[str]:
        """Return the addresses of a host with that number, each with its prefix length."""
        networks = map(ip_network, self.networks)
        return [f"{network[number]}/{network.prefixlen}" for network in networks]


@dataclass(frozen=True)
class Case:
    """One run: the ports, whether the ranks get the plan's variables, those on top of it, the outcome."""

    name: str
    about: str
    ports: tuple[Port, ...]
    expected: Outcome
    changes: Mapping[str, str] = field(default_factory=dict)
    planned: bool = True
    pin: str | None = None


def _port(name: str, network: str, mtu: int = 1500, joined: bool = True) -> Port:
    return Port((name, name), (network,), mtu, joined)


def _named(value: str) -> dict[str, str]:
    return {"NCCL_SOCKET_IFNAME": value}


PIN = "10.77.0.0/24"
PIN6 = "fd00:77::/64"
MANAGEMENT = Port(("mgmt0", "mgmt0"), ("10.88.0.0/24",), gateway=True)
APART = Port(("mgmt0", "mgmt0"), ("10.88.0.0/24",), joined=False, gateway=True)
FABRIC = _port("fab0", PIN, 9000)
USUAL = (MANAGEMENT, FABRIC)
SPLIT = (APART, FABRIC)
OWN_NAMES = (MANAGEMENT, Port(("fab0", "fab1"), (PIN,), 9000))
PREFIX = (MANAGEMENT, _port("fab01", "10.99.0.0/24"), FABRIC)
PREFIX_APART = (MANAGEMENT, _port("fab01", "10.99.0.0/24", joined=False), FABRIC)
NAMED_IB = (*USUAL, _port("ib0", "10.99.0.0/24"))
BARE = (*USUAL, Port(("bare0", "bare0"), ()))
RAILS = (*USUAL, _port("fab1", "10.78.0.0/24", 9000))
TWO_ADDRESSES = (MANAGEMENT, Port(("fab0", "fab0"), ("10.66.0.0/24", PIN), 9000))
IPV6 = (MANAGEMENT, _port("fab0", PIN6, 9000))

CASES = (
    Case("planned", "the plan's variables", USUAL, Outcome.PLANNED),
    Case("unset", "no variables", USUAL, Outcome.BESIDE, planned=False),
    Case("apart", "the plan's variables; management does not join", SPLIT, Outcome.PLANNED),
    Case(
        "apart-unset",
        "no variables; management does not join",
        SPLIT,
        Outcome.WAITING,
        planned=False,
    ),
    Case("names", "the plan's variables; fab0 here is fab1 there", OWN_NAMES, Outcome.PLANNED),
    Case(
        "names-copied",
        "the first host's name on both",
        OWN_NAMES,
        Outcome.FAILED,
        _named("=fab0"),
    ),
    Case("prefix", "the plan's variables; fab01 joins, too", PREFIX, Outcome.PLANNED, pin=PIN),
    Case("prefix-bare", "without the =", PREFIX, Outcome.BESIDE, _named("fab0"), pin=PIN),
    Case(
        "prefix-apart",
        "without the =; fab01 does not join",
        PREFIX_APART,
        Outcome.WAITING,
        _named("fab0"),
        pin=PIN,
    ),
    Case("wrong-name", "a name that no interface has", USUAL, Outcome.FAILED, _named("=fab9")),
    Case("no-address", "an interface without an address", BARE, Outcome.FAILED, _named("=bare0")),
    Case("excluded", "all but management", USUAL, Outcome.FAILED, _named("^mgmt0")),
    Case("excluded-lo", "and but loopback", USUAL, Outcome.PLANNED, _named("^mgmt0,lo")),
    Case("rails", "two interfaces", RAILS, Outcome.BESIDE, _named("=fab0,fab1"), pin=PIN),
    Case(
        "addresses", "the plan's variables; fab0 has two addresses", TWO_ADDRESSES, Outcome.PLANNED
    ),
    Case(
        "second-pinned",
        "the plan's variables; the second address is pinned",
        TWO_ADDRESSES,
        Outcome.BESIDE,
        pin=PIN,
    ),
    Case("ipv6", "the plan's variables; the fabric is IPv6", IPV6, Outcome.PLANNED, pin=PIN6),
    Case(
        "unset-ib", "no variables; ib0 is a third", NAMED_IB, Outcome.BESIDE, planned=False, pin=PIN
    ),
    Case(
        "comm-id",
        "and NCCL_COMM_ID on management",
        USUAL,
        Outcome.BESIDE,
        {"NCCL_COMM_ID": "10.88.0.1:29400"},
    ),
    Case(
        "hca-missing",
        "an HCA that is not there, alone",
        USUAL,
        Outcome.PLANNED,
        {**_named("=fab0"), "NCCL_IB_HCA": "=mlx5_0:1"},
        planned=False,
    ),
    Case(
        "hca-required",
        "the same with NCCL_NET=IB",
        USUAL,
        Outcome.FAILED,
        {"NCCL_NET": "IB", "NCCL_IB_DISABLE": "0", "NCCL_IB_HCA": "=mlx5_0:1"},
    ),
)
