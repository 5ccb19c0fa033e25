# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Judges which addresses and MTUs the hosts of a cluster are to get, before anything is changed.

A host is asked for `Asked`: what its inventory wants (`links`, as it stands there), and what the host says
about itself (`facts`, as `network_setup_info` returns them).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _forms
from ansible_collections.samewire.vllm.plugins.module_utils import _network_files as network_files
from ansible_collections.samewire.vllm.plugins.module_utils import _topology as topology

VARIABLE = "interconnect_network_setup_links"
SHORTEST_ROLLBACK = 30  # seconds: to connect anew and to ask all hosts takes half of it
_IPV6_MTU = 1280  # RFC 8200, section 5
_CORRECT = f"correct it in {VARIABLE}"
_ANOTHER = f"name another one in {VARIABLE}"


@dataclass(frozen=True)
class Wanted:
    """One address of one interface; `mtu` is None where it is to stay as it is."""

    interface: str
    address: topology.Address
    mtu: int | None = None


@dataclass(frozen=True)
class Asked:
    """One host: what is wanted of it, what it says about itself, and by which address Ansible reaches it."""

    name: str
    wanted: Sequence[Wanted]
    facts: Mapping[str, Any]
    reached_by: str = ""

    @cached_property
    def host(self) -> topology.Host:
        return topology.parse_host(self.name, self.facts["host"])

    def link(self, interface: str) -> Mapping[str, Any]:
        return dict(self.facts["links"][interface])

    def mtu(self, wanted: Wanted) -> int:
        return int(self.link(wanted.interface)["mtu"]) if wanted.mtu is None else wanted.mtu


def setups(wanted: Iterable[Wanted]) -> list[network_files.Setup]:
    """Return what each interface is to have, in the order in which they are named."""
    found: dict[str, list[Wanted]] = {}
    for each in wanted:
        found.setdefault(each.interface, []).append(each)
    return [
        network_files.Setup(
            interface=name,
            addresses=tuple(str(each.address) for each in some),
            mtu=next((each.mtu for each in some if each.mtu is not None), None),
        )
        for name, some in found.items()
    ]


def parse(host: str, links: Any) -> tuple[list[Wanted], list[str]]:
    """Return what the inventory wants of a host, and a sentence for each entry that says nothing."""
    wanted, problems = [], []
    for each in links if isinstance(links, (list, tuple)) else [links]:
        found = _entry(each)
        if isinstance(found, Wanted):
            wanted.append(found)
        else:
            problems.append(f"{host}: {VARIABLE} {found}; correct it in the inventory")
    return wanted, problems


def _entry(entry: Any) -> Wanted | str:
    if not isinstance(entry, Mapping) or not {"interface", "address"} <= set(entry) <= {
        *("interface", "address", "mtu")
    }:
        return f"holds {_forms.shown(entry)}, expected interface, address and, where it is to be set, mtu"
    interface, text, mtu = str(entry["interface"]), str(entry["address"]), entry.get("mtu")
    if not network_files.is_interface(interface):
        return (
            f"holds interface {_forms.shown(interface)}, expected the name of an interface of at most 15 "
            "letters, digits, '_', '.' and '-'"
        )
    try:
        # Without a prefix Python takes an address for a network of its own.
        address = ipaddress.ip_interface(text if "/" in text else "")
    except ValueError:
        return (
            f"holds address {_forms.shown(text)}, expected one with its prefix as 192.168.200.12/24"
        )
    if mtu is not None and not str(mtu).isdecimal():
        return f"holds mtu {_forms.shown(mtu)}, expected bytes as 9000"
    return Wanted(interface, address, None if mtu is None else int(mtu))


def problems(hosts: Sequence[Asked], rollback: int) -> list[str]:
    """Return a sentence for each reason not to change anything, none where all is well."""
    found = []
    if rollback < SHORTEST_ROLLBACK:
        found.append(
            f"interconnect_network_setup_rollback is {rollback}, expected {SHORTEST_ROLLBACK} s or more, "
            "in which the hosts are asked over the new addresses; correct it in the inventory"
        )
    if not any(each.wanted for each in hosts):
        found.append(
            f"{VARIABLE} is empty on all hosts, expected an interface and an address of each host; set it "
            "per host in the inventory"
        )
    for asked in hosts:
        found += [f"{asked.name}: {each}" for each in asked.facts["problems"]]
        found += _one_host(asked)
    # What is wrong with one host makes the comparison of all meaningless.
    return found or _all_hosts(hosts)


def absent_problems(hosts: Iterable[Asked]) -> list[str]:
    """Return a sentence for each host that would lose the address by which Ansible reaches it."""
    return [
        f"{asked.name}: Ansible reaches it by an address that is to be removed from {name}, expected "
        "another one; set ansible_host to its address on the management network"
        for asked in hosts
        for name, made in asked.facts["made"].items()
        if _reached(asked) & {str(ipaddress.ip_interface(each).ip) for each in made}
    ]


def _reached(asked: Asked) -> set[str]:
    """The addresses of a host by which the controller reaches it."""
    return {each for each in (asked.facts["ssh"], asked.reached_by) if each}


def _one_host(asked: Asked) -> list[str]:
    found = []
    for wanted in asked.wanted:
        problem = _address(wanted) or _interface(asked, wanted)
        problem = problem or _mtu(asked, wanted) or _overlap(asked, wanted)
        if problem:
            found.append(f"{asked.name}: {problem}")
    return found


def _address(wanted: Wanted) -> str | None:
    address, network = wanted.address, wanted.address.network
    most = address.max_prefixlen
    if address.is_multicast or address.is_loopback or address.is_unspecified:
        return f"{address} of {wanted.interface} is no address of a host, expected one; {_CORRECT}"
    if address.version == 6 and address.is_link_local:
        return (
            f"{address} of {wanted.interface} is link-local, which cannot be used without its interface, "
            f"expected one as fd00::1/64; {_CORRECT}"
        )
    if network.prefixlen < most - 1 and (
        address.ip == network.network_address
        or (address.version == 4 and address.ip == network.broadcast_address)
    ):
        return (
            f"{address} of {wanted.interface} stands for the network {network}, expected an address of a "
            f"host in it as {network.network_address + 1}/{network.prefixlen}; {_CORRECT}"
        )
    return None


def _interface(asked: Asked, wanted: Wanted) -> str | None:
    name, host = wanted.interface, asked.host
    interface = host.interface(name)
    if interface is None:
        there = ", ".join(sorted(each.name for each in host.interfaces if each.kind == "physical"))
        return f"there is no interface {name}, expected one of {there or 'its own'}; {_CORRECT}"
    # A name that Docker and its like give says more than that it is a veth.
    kinds = (interface.kind, topology.Interface(name).kind)
    if kinds[0] not in ("physical", "veth") or kinds[1] in ("bridge", "veth", "tunnel"):
        kind = kinds[0] if kinds[0] not in ("physical", "veth") else kinds[1]
        return f"{name} is of kind {kind}, expected an Ethernet interface of the fabric; {_ANOTHER}"
    if interface.master:
        return (
            f"{name} is a port of {interface.master}, expected an interface by itself; {_ANOTHER}"
        )
    for address in sorted(_reached(asked)):
        used = _interface_of(host, address)
        if used and name in host.carriers(used):
            return (
                f"{name} is the interface by which Ansible reaches the host ({address}), expected one of "
                f"the fabric; {_ANOTHER}"
            )
    default = host.default_route_interface
    if default and name in host.carriers(default):
        return (
            f"the default route leads over {name}, expected an interface of the fabric; {_ANOTHER}"
        )
    link = asked.link(name)
    if not (link["up"] and link["carrier"]):
        return (
            f"{name} has no carrier, expected a link that is up; check its cable and the port at the other "
            f"end, and run ip link set {name} up on the host"
        )
    if owner := asked.facts["owners"].get(name):
        return (
            f"{owner} configures {name} already, expected no other file to do so; remove {name} there, or "
            f"keep that file and remove {name} from {VARIABLE}"
        )
    return None


def _interface_of(host: topology.Host, address: str) -> str | None:
    return next(
        (
            each.name
            for each in host.interfaces
            for own in each.addresses or ()
            if str(own.ip) == address
        ),
        None,
    )


def _mtu(asked: Asked, wanted: Wanted) -> str | None:
    link, mtu = asked.link(wanted.interface), asked.mtu(wanted)
    least, most = link["min_mtu"] or 68, link["max_mtu"] or 65535
    if wanted.address.version == 6:
        least = max(least, _IPV6_MTU)
    if not least <= mtu <= most:
        return (
            f"{wanted.interface} would have MTU {mtu}, expected {least} to {most}, which the device can; "
            f"{_CORRECT}"
        )
    others = [
        each.mtu
        for each in asked.wanted
        if each.interface == wanted.interface and each.mtu is not None
    ]
    if len(set(others)) > 1:
        return f"{wanted.interface} has MTUs {others[0]} and {others[1]}, expected one; {_CORRECT}"
    return None


def _overlap(asked: Asked, wanted: Wanted) -> str | None:
    network = wanted.address.network
    for each in asked.wanted:
        if each is not wanted and each.address.network.overlaps(network):
            return (
                f"{wanted.address} of {wanted.interface} and {each.address} of {each.interface} are in "
                f"networks that overlap, expected a network of its own for each; {_CORRECT}"
            )
    for interface, text in asked.facts["networks"]:
        reached = ipaddress.ip_network(text)
        made = {
            ipaddress.ip_interface(each).network for each in asked.facts["made"].get(interface, ())
        }
        # What an earlier run made on another interface moves.
        if interface != wanted.interface and reached not in made and reached.overlaps(network):
            return (
                f"{network} of {wanted.interface} overlaps {reached}, which the host reaches over "
                f"{interface}, expected a network that it does not know; choose another one in {VARIABLE}"
            )
    return None


def _all_hosts(hosts: Sequence[Asked]) -> list[str]:
    return [*_duplicates(hosts), *_rails(hosts)]


def _duplicates(hosts: Sequence[Asked]) -> list[str]:
    owners: dict[str, list[tuple[str, str]]] = {}
    for asked in hosts:
        # What an earlier run made is there only as long as it is wanted.
        there = [
            (interface.name, str(address.ip))
            for interface in asked.host.interfaces
            for address in interface.addresses or ()
            if str(address) not in asked.facts["made"].get(interface.name, ())
        ]
        wanted = [(each.interface, str(each.address.ip)) for each in asked.wanted]
        for interface, ip in dict.fromkeys([*wanted, *there]):
            owners.setdefault(ip, []).append((asked.name, interface))
    wanted_by = {str(each.address.ip): asked.name for asked in hosts for each in asked.wanted}
    return [
        f"{name}: {ip} is also that of {other[1]} on {other[0]}, expected an address of its own; {_CORRECT}"
        for ip, name in wanted_by.items()
        for other in owners[ip]
        if other[0] != name
    ]


def _rails(hosts: Sequence[Asked]) -> list[str]:
    """Every network must have an address, and the same MTU, on every host."""
    found = []
    rails: dict[topology.Network, dict[str, int]] = {}
    for asked in hosts:
        for each in asked.wanted:
            rails.setdefault(each.address.network, {})[asked.name] = asked.mtu(each)
    for network, mtus in rails.items():
        first = next(iter(mtus))
        found += [
            f"{asked.name}: {VARIABLE} names no address in {network}, where {first} has one, expected one on "
            "every host; add it, or correct the network"
            for asked in hosts
            if asked.name not in mtus
        ]
        found += [
            f"{name}: would have MTU {mtu} in {network}, {first} has {mtus[first]}, expected the same on all "
            f"hosts; {_CORRECT}"
            for name, mtu in mtus.items()
            if mtu != mtus[first]
        ]
    return found


def targets(wanted: Mapping[str, Sequence[Wanted]], host: str) -> list[dict[str, str]]:
    """Return whom a host must reach over its new addresses: host, address, and the own interface."""
    return [
        {"host": name, "address": str(other.address.ip), "interface": own.interface}
        for own in wanted[host]
        for name, theirs in wanted.items()
        for other in theirs
        if name != host and other.address.network == own.address.network
    ]


def unanswered(host: str, target: str, address: str, interface: str, mtu: int, said: str) -> str:
    """Return the sentence for a packet of full size that got no answer."""
    return (
        f"{host} to {target}: {address} does not answer to a packet of {mtu} bytes over {interface} "
        f"({said}), expected an answer; check the cables, the MTU of the switch and that no firewall drops "
        "ICMP"
    )
