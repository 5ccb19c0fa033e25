# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The firewall of one host: an nftables table of the cluster's own, which keeps strangers from its ports.

A packet that opens a connection is judged and nothing else, so no connection is tracked, and none that
stands is cut.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Where Ray listens without being told; source: ray/_private/ray_constants.py and scripts.py (dashboard,
# client server, ports of workers). All other ports Ray and vLLM let the system choose.
RAY_PORTS = ((8265, 8265), (10001, 19999))
LAST_PORT = 65535
_FOLDER = "/etc/samewire"

_INTERFACE = re.compile(r"[A-Za-z0-9_.@-]{1,15}")
_ADMITTED = re.compile(
    r"^\s*(?:iifname \"[^\"]+\" )?ip6? saddr \{ ([^}]+) \} accept$", re.MULTILINE
)
_PORTS = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")

Range = tuple[int, int]


class FirewallRefused(ValueError):
    """Input from which no ruleset can be made; the message is one sentence."""


@dataclass(frozen=True)
class Firewall:
    """What a host may be asked from where.

    interface, members: of the interconnect, by plan; ports: that the cluster is known to use beside
    RAY_PORTS; first_free: where the ports begin that the kernel chooses; api_port: where this host serves
    the API; api_clients: addresses or networks that reach it (none: everybody does); trusted: those that
    reach every port; open_ports: ports or ranges of other programs.
    """

    host: str
    cluster: str
    interface: str
    members: Sequence[str]
    ports: Sequence[int]
    first_free: int
    api_port: int | None
    api_clients: Sequence[str]
    trusted: Sequence[str]
    open_ports: Sequence[str]


def table(cluster: str) -> str:
    """Return the name of a cluster's table."""
    return f"samewire_{cluster}"


def file(cluster: str) -> str:
    """Return the path of the file on the host that holds a cluster's table."""
    return f"{_FOLDER}/{cluster}.nft"


def listing_file(cluster: str) -> str:
    """Return the path of the file that holds what nft said of the table when it was loaded."""
    return f"{_FOLDER}/{cluster}.loaded"


def before_file(cluster: str) -> str:
    """Return the path of the file that holds the table of before a change that is not proven yet."""
    return f"{_FOLDER}/{cluster}.before"


def listing_command(program: str, cluster: str) -> list[str]:
    """Return the command that prints a cluster's table without what changes by itself."""
    return [program, "-s", "list", "table", "inet", table(cluster)]


def admitted(rules: str) -> list[str]:
    """Return the networks that a ruleset of this module lets through to every port."""
    return [
        network.strip() for networks in _ADMITTED.findall(rules) for network in networks.split(",")
    ]


def excluded(
    plan: Mapping[str, Any], admitted_by: Mapping[str, Sequence[str] | None]
) -> dict[str, list[str]]:
    """Return which planned hosts the firewall of before keeps out, by the host that has it.

    admitted_by: networks by host, None for one without a firewall of the cluster.
    """
    addresses = {host: ipaddress.ip_address(own["address"]) for host, own in plan["hosts"].items()}
    found = {}
    for host, texts in admitted_by.items():
        if texts is None:
            continue
        networks = [ipaddress.ip_network(text) for text in texts]
        out = [
            other
            for other, address in sorted(addresses.items())
            if not any(address in network for network in networks)
        ]
        if out:
            found[host] = out
    return found


def ruleset(wanted: Firewall) -> str:
    """Return the table as `nft -f` reads it, which puts it in the place of one of before in one step.

    Raises:
        FirewallRefused: An interface, an address or a port is none.
    """
    name = table(wanted.cluster)
    rules = "\n".join(f"\t\t{rule}" for rule in _rules(wanted))
    return (
        f"table inet {name}\ndelete table inet {name}\ntable inet {name} {{\n\tchain input {{\n"
        f"\t\ttype filter hook input priority filter; policy accept;\n{rules}\n\t}}\n}}\n"
    )


def _rules(wanted: Firewall) -> list[str]:
    if not _INTERFACE.fullmatch(wanted.interface):
        raise FirewallRefused(
            f"{wanted.host}: {wanted.interface!r} is no name of an interface that a firewall can take; "
            "rename it, or set firewall_enabled: false"
        )
    members = _sources(wanted, "plan", wanted.members)
    rules = [
        "tcp flags & (syn | ack) != syn accept",
        'iifname "lo" accept',
        *(f'iifname "{wanted.interface}" {source} accept' for source in members),
        *(f"{source} accept" for source in _sources(wanted, "firewall_trusted", wanted.trusted)),
    ]
    if opened := _merged(_range(wanted, text) for text in wanted.open_ports):
        rules.append(f"tcp dport {_ports(opened)} accept")
    closed = [(port, port) for port in wanted.ports if port != wanted.api_port]
    closed += [*RAY_PORTS, (wanted.first_free, LAST_PORT)]
    if wanted.api_port is not None:
        api = f"tcp dport {wanted.api_port}"
        clients = _sources(wanted, "firewall_api_clients", wanted.api_clients)
        rules += [f"{source} {api} accept" for source in clients] or [f"{api} accept"]
        closed.append((wanted.api_port, wanted.api_port))
    # To be refused looks like a port on which nobody listens, and nobody waits for an answer.
    return [*rules, f"tcp dport {_ports(_merged(closed))} reject with tcp reset"]


def _sources(wanted: Firewall, variable: str, texts: Sequence[str]) -> list[str]:
    """Return the match of each family's networks, merged, since a set must not name an address twice."""
    four: list[ipaddress.IPv4Network] = []
    six: list[ipaddress.IPv6Network] = []
    for text in texts:
        try:
            network = ipaddress.ip_network(str(text), strict=False)
        except ValueError:
            raise FirewallRefused(
                f"{wanted.host}: {variable} holds {text!r}, expected an address or a network as "
                "10.0.0.0/8; correct it in the inventory"
            ) from None
        if isinstance(network, ipaddress.IPv4Network):
            four.append(network)
        else:
            six.append(network)
    families = (
        ("ip", [str(each) for each in ipaddress.collapse_addresses(four)]),
        ("ip6", [str(each) for each in ipaddress.collapse_addresses(six)]),
    )
    return [f"{family} saddr {{ {', '.join(found)} }}" for family, found in families if found]


def _range(wanted: Firewall, text: str) -> Range:
    matched = _PORTS.fullmatch(str(text))
    first, last = (int(matched[1]), int(matched[2] or matched[1])) if matched else (0, 0)
    if not 1 <= first <= last <= LAST_PORT:
        raise FirewallRefused(
            f"{wanted.host}: firewall_open_ports holds {text!r}, expected a port or a range as "
            "11000-11010; correct it in the inventory"
        )
    return first, last


def _merged(ranges: Iterable[Range]) -> list[Range]:
    """Return ranges in order, those that touch or overlap as one."""
    found: list[Range] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


def _ports(ranges: Sequence[Range]) -> str:
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    return f"{{ {', '.join(texts)} }}"
