# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Which addresses the hosts offer, which networks join all of them, and which of those is best."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Callable

from ansible_collections.samewire.vllm.plugins.module_utils import _hca as hca
from ansible_collections.samewire.vllm.plugins.module_utils import _topology as topology

# The network of Docker's default bridge on every host, and the pools of its other bridges.
_DOCKER_BRIDGE = ipaddress.ip_network("172.17.0.0/16")
_DOCKER_POOLS = (
    (ipaddress.ip_network("172.16.0.0/12"), 16),
    (ipaddress.ip_network("192.168.0.0/16"), 20),
)
# WSL puts each virtual machine behind a NAT of its own, with a random /20 of this block.
_WSL_BLOCK = ipaddress.ip_network("172.16.0.0/12")
_HYPERV_DRIVER = "hv_netvsc"
# Drivers of a management controller's virtual Ethernet over USB.
_USB_GADGETS = ("cdc_ether", "cdc_ncm", "cdc_eem", "cdc_subset", "rndis_host")

# Drivers of clouds (AWS, Google) whose secondary interfaces belong to the cloud's NCCL plugin.
_CLOUD_DRIVERS = ("ena", "gve")
# Mb/s from which a port is a fabric rather than a LAN.
FAST = 25_000


@dataclass(frozen=True)
class Pins:
    """What the user decided: one network for the cluster, one interface for some hosts.

    alone: a single host is meant to serve alone, and only needs an address of its own.
    """

    network: topology.Network | None = None
    interfaces: Mapping[str, str] = field(default_factory=dict)
    alone: bool = False


@dataclass(frozen=True)
class Offer:
    """One address of one host. A non-empty `obstacle` is a class of reason against it.

    Obstacles: loopback, port, down, unaddressed, unstated, link_local, host_local, duplicate,
    overlay, wifi, unpinned. `because` says it to the reader.
    """

    host: topology.Host
    interface: topology.Interface
    address: topology.Address | None
    obstacle: str = ""
    because: str = ""

    @cached_property
    def ip(self) -> topology.IP | None:
        return None if self.address is None else self.address.ip


# What all hosts offer, by host name.
Offers = Mapping[str, Sequence[Offer]]


@dataclass(frozen=True)
class Candidate:
    """A network that joins all hosts, with one offer per host, by host name.

    `crowded` names the hosts that have more than one unrelated interface in it.
    `routed` is true where the hosts reach each other through routers.
    """

    network: topology.Network | None
    offers: Mapping[str, Offer]
    crowded: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    routed: bool = False

    @cached_property
    def speed(self) -> int | None:
        """Mb/s of the slowest host whose speed is known."""
        known = [each for each in map(speed, self.offers.values()) if each is not None]
        return min(known) if known else None

    @cached_property
    def rdma(self) -> bool:
        return all(hca.on_interface(each.host, each.interface) for each in self.offers.values())

    @cached_property
    def default_route(self) -> bool:
        return any(each.host.has_default_route(each.interface) for each in self.offers.values())

    @cached_property
    def cloud_primary(self) -> bool:
        return all(map(_is_cloud_primary, self.offers.values()))

    @property
    def link_local(self) -> bool:
        return self.network is not None and self.network.is_link_local


@dataclass(frozen=True)
class Choice:
    """The best candidates (more than one where nothing tells them apart) and why the others lost."""

    best: tuple[Candidate, ...]
    because: tuple[str, ...]
    lost: Mapping[topology.Network | None, str]


def collect(hosts: Sequence[topology.Host], pins: Pins) -> dict[str, tuple[Offer, ...]]:
    """All offers, by host name, in the order of hosts and interfaces."""
    owners = _Owners(hosts)
    return {
        host.name: tuple(
            _offer(host, interface, address, pins, owners)
            for interface in host.interfaces
            for address in (interface.addresses or (None,))
        )
        for host in hosts
    }


class _Owners:
    """Which hosts have an address, and which addresses virtual machines of Hyper-V have in a network."""

    def __init__(self, hosts: Sequence[topology.Host]) -> None:
        self._addresses: dict[tuple[int, int], set[str]] = {}
        self._virtual: dict[topology.Network, set[tuple[int, int]]] = {}
        for host in hosts:
            for interface in host.interfaces:
                if interface.kind != "loopback":
                    for address in interface.addresses or ():
                        number = _number(address)
                        self._addresses.setdefault(number, set()).add(host.name)
                        if interface.driver == _HYPERV_DRIVER:
                            self._virtual.setdefault(address.network, set()).add(number)

    def others(self, host: str, address: topology.Address) -> list[str]:
        """The other hosts with this address."""
        found = self._addresses.get(_number(address), set())
        return sorted(found - {host}, key=hca.natural) if len(found) > 1 else []

    def behind_nat(self, interface: topology.Interface, address: topology.Address) -> bool:
        """Whether an address is behind the NAT of WSL, where no two machines share a network."""
        return (
            interface.driver == _HYPERV_DRIVER
            and address.network.prefixlen == 20
            and address.ip in _WSL_BLOCK
            and len(self._virtual.get(address.network, ())) < 2
        )


def shared(offers: Offers, accept: Callable[[Offer], bool]) -> list[Candidate]:
    """The networks in which every host has an accepted offer.

    A host is in a network if it has an address in it and its own prefix is at least as wide:
    then the kernels of all hosts take each other for neighbours.
    """
    accepted = {
        name: _Accepted([each for each in some if accept(each)]) for name, some in offers.items()
    }
    networks = {network for each in accepted.values() for network in each.exact}
    candidates = []
    for network in sorted(networks, key=_network_order):
        inside = {name: each.inside(network) for name, each in accepted.items()}
        if all(inside.values()):
            chosen = {name: _preferred(some) for name, some in inside.items()}
            crowded = {
                name: names
                for name, some in inside.items()
                if (names := _unrelated(some, chosen[name]))
            }
            candidates.append(Candidate(network, chosen, crowded))
    return candidates


def _number(address: topology.Address) -> tuple[int, int]:
    """What tells an address from all others: a key that is cheap to make and to compare."""
    return address.version, int(address)


class _Accepted:
    """The accepted offers of one host, by network: most networks have the same prefix everywhere."""

    def __init__(self, offers: Sequence[Offer]) -> None:
        self._offers = offers
        self.exact: dict[topology.Network, list[Offer]] = {}
        for each in offers:
            if each.address is not None:
                self.exact.setdefault(each.address.network, []).append(each)
        self._widest = min((each.prefixlen for each in self.exact), default=0)

    def inside(self, network: topology.Network) -> list[Offer]:
        if self._widest >= network.prefixlen:
            return self.exact.get(network, [])
        return [each for each in self._offers if _inside(each, network)]


def covering(addresses: Iterable[topology.IP]) -> topology.Network:
    """The smallest network that contains all addresses (of one family)."""
    first, *others = sorted(addresses, key=int)
    network: topology.Network = ipaddress.ip_network(first)
    while any(each not in network for each in others):
        network = network.supernet()
    return network


def choose(candidates: Sequence[Candidate]) -> Choice:
    """Speed first, then RDMA, then not the default route, then a routable network.

    Each step compares only what the facts state: an unknown speed neither wins nor loses, until
    nothing but a speed that is known to be a fabric's is left to tell two networks apart.
    """
    remaining = list(candidates)
    because: list[str] = []
    lost: dict[topology.Network | None, str] = {}

    def keep(winners: list[Candidate], reason: str, defeat: Callable[[Candidate], str]) -> None:
        if winners and len(winners) < len(remaining):
            because.append(reason)
            lost.update({each.network: defeat(each) for each in remaining if each not in winners})
            remaining[:] = winners

    top = max((each.speed for each in remaining if each.speed is not None), default=0)
    keep(
        [each for each in remaining if each.speed is None or each.speed == top],
        f"no other network that joins all hosts is as fast ({top} Mb/s)",
        lambda each: f"{each.network} is slower ({each.speed} Mb/s, the chosen one {top} Mb/s)",
    )
    keep(
        [each for each in remaining if each.rdma],
        "every host reaches it through an RDMA port",
        lambda each: f"{each.network} has no RDMA port on every host",
    )
    keep(
        [each for each in remaining if each.cloud_primary],
        "it is the primary network of cloud instances, whose other interfaces are for data only",
        lambda each: f"{each.network} is not the primary network of the cloud instances",
    )
    keep(
        [each for each in remaining if not each.default_route],
        "it is not the network of a default route",
        lambda each: f"{each.network} is the network of the default route",
    )
    keep(
        [each for each in remaining if not each.link_local],
        "its addresses are not link-local",
        lambda each: f"{each.network} is link-local",
    )
    keep(
        [each for each in remaining if (each.speed or 0) >= FAST],
        "it is known to be fast",
        lambda each: f"the speed of {each.network} is not known, that of the chosen one is",
    )
    if len(remaining) > 1 and all(_same_wire(remaining[0], each) for each in remaining[1:]):
        best = min(remaining, key=_wire_order)
        keep(
            [best],
            "it comes first among networks that serve equally",
            lambda each: f"{each.network} serves equally and comes later",
        )
    return Choice(tuple(remaining), tuple(because), lost)


def _same_wire(one: Candidate, other: Candidate) -> bool:
    """Whether taking either is right: both are rails, or both use the same physical ports."""
    return (one.rdma and other.rdma) or all(
        hca.twin_interfaces(each.host, each.interface, other.offers[name].interface)
        for name, each in one.offers.items()
    )


def _wire_order(candidate: Candidate) -> tuple[int, int, tuple[int, int, int]]:
    domains = sum(hca.domain(each.host, each.interface) for each in candidate.offers.values())
    # NCCL takes the first address of an interface.
    places = sum(
        (each.interface.addresses or ()).index(each.address)
        for each in candidate.offers.values()
        if each.address is not None
    )
    return domains, places, _network_order(candidate.network)


def _network_order(network: topology.Network | None) -> tuple[int, int, int]:
    if network is None:
        return 0, 0, 0
    return network.version, int(network.network_address), network.prefixlen


def _inside(offer: Offer, network: topology.Network) -> bool:
    if offer.address is None or offer.address.version != network.version:
        return False
    own = offer.address.network
    return own == network or (own.prefixlen <= network.prefixlen and offer.address.ip in network)


def _is_cloud_primary(offer: Offer) -> bool:
    driver = offer.interface.driver
    return driver in _CLOUD_DRIVERS and offer.host.has_default_route(offer.interface)


def _preferred(offers: Sequence[Offer]) -> Offer:
    """The fastest interface, between twins the one of the first PCI domain, its first address.

    Among a cloud instance's interfaces it is the primary one.
    """
    if len(offers) == 1:
        return offers[0]
    primary = [each for each in offers if _is_cloud_primary(each)]
    return min(
        primary or offers,
        key=lambda each: (
            -(speed(each) or 0),
            hca.domain(each.host, each.interface),
            hca.natural(each.interface.name),
        ),
    )


def _unrelated(offers: Sequence[Offer], chosen: Offer) -> tuple[str, ...]:
    """The interfaces in one network that are not ways to one port, none where all are.

    A cloud's network delivers each address to its own interface, and its primary interface has the
    kernel's first route, so secondary ones beside it are no rivals.
    """
    if _is_cloud_primary(chosen) and all(
        each.interface.driver in _CLOUD_DRIVERS for each in offers
    ):
        return ()
    names = {
        each.interface.name
        for each in offers
        if not hca.twin_interfaces(each.host, each.interface, chosen.interface)
    }
    return tuple(sorted({*names, chosen.interface.name}, key=hca.natural)) if names else ()


def speed(offer: Offer) -> int | None:
    """Mb/s of an interface: its own, that of its RDMA port, or that of what carries it."""
    own = offer.interface.speed_mbps
    if own is not None and own > 0:
        return own
    carriers = offer.host.carriers(offer.interface.name)
    rates = [
        int(port.rate_gbps * 1000)
        for port in hca.usable(offer.host)
        if port.netdev in carriers and port.rate_gbps
    ]
    speeds = [
        each.speed_mbps
        for each in offer.host.interfaces
        if each.name in carriers and each.speed_mbps is not None and each.speed_mbps > 0
    ]
    return max(rates or speeds, default=None)


def _offer(
    host: topology.Host,
    interface: topology.Interface,
    address: topology.Address | None,
    pins: Pins,
    owners: _Owners,
) -> Offer:
    obstacle, because = (
        _link_obstacle(host, interface, address)
        or _host_obstacle(host, interface, address)
        or _pin_obstacle(host, interface, address, pins)
        or _shared_obstacle(host, interface, address, owners)
        or ("", "")
    )
    asked_for = host.name in pins.interfaces or pins.network is not None
    if obstacle in ("overlay", "wifi") and asked_for:
        obstacle, because = "", ""
    return Offer(host, interface, address, obstacle, because)


def _link_obstacle(
    host: topology.Host, interface: topology.Interface, address: topology.Address | None
) -> tuple[str, str] | None:
    if interface.kind == "loopback":
        return "loopback", "it is the loopback interface"
    master = host.interface(interface.master)
    if interface.master and (master is None or master.kind in ("bond", "bridge")):
        return "port", f"it is a port of {interface.master}"
    if master is not None and master.type == "vrf":
        return "port", f"it is in the VRF {master.name}, where only programs that bind to it send"
    if not interface.up:
        return "down", "its link is down"
    if address is None:
        if interface.addresses is None:
            return "unstated", "its address is not in the facts"
        return "unaddressed", "it has no address"
    if address.version == 6 and address.is_link_local:
        return "link_local", "an IPv6 link-local address cannot be used without its interface"
    if address.is_loopback or address.is_multicast or address.is_unspecified:
        return "loopback", "it is not an address of a network"
    return None


def _pin_obstacle(
    host: topology.Host,
    interface: topology.Interface,
    address: topology.Address | None,
    pins: Pins,
) -> tuple[str, str] | None:
    pinned = pins.interfaces.get(host.name)
    if pinned is not None and interface.name != pinned:
        return "unpinned", f"interconnect_interface is {pinned}"
    if pins.network is not None and address is not None and address.ip not in pins.network:
        return "unpinned", f"interconnect_network is {pins.network}"
    return None


def _host_obstacle(
    host: topology.Host, interface: topology.Interface, address: topology.Address | None
) -> tuple[str, str] | None:
    reason = _host_local(host, interface, address) if address is not None else ""
    return ("host_local", reason) if reason else None


def _shared_obstacle(
    host: topology.Host,
    interface: topology.Interface,
    address: topology.Address | None,
    owners: _Owners,
) -> tuple[str, str] | None:
    if address is None:
        return None
    if owners.behind_nat(interface, address):
        return "host_local", "it is behind the NAT of this host's virtual machine"
    others = owners.others(host.name, address)
    if others:
        return "duplicate", f"{', '.join(others)} has the same address"
    if interface.kind == "wifi":
        return "wifi", "Wi-Fi is used only when it is pinned"
    if interface.kind == "tunnel":
        return "overlay", "a tunnel is used only when it is pinned"
    return None


def _host_local(
    host: topology.Host, interface: topology.Interface, address: topology.Address
) -> str:
    """Why an address cannot be reached from another host, empty where nothing says so."""
    kind, network = interface.kind, address.network
    if kind == "bridge":
        members = host.members(interface.name)
        virtual = ("veth", "tunnel", "unknown")
        named = topology.Interface(interface.name).kind == "bridge"
        if named or (members and all(each.kind in virtual for each in members)):
            return "it is a bridge inside this host"
    if kind in ("bridge", "veth", "unknown") and network == _DOCKER_BRIDGE:
        return "it is in the network of Docker's default bridge, which exists on every host"
    if kind == "veth" and any(
        network.prefixlen == length and address.ip in pool for pool, length in _DOCKER_POOLS
    ):
        return "it is in a network that Docker makes inside each host"
    gadget = interface.driver in _USB_GADGETS and (address.is_link_local or network.prefixlen >= 30)
    if (kind == "usb" and interface.driver is None) or gadget:
        return "it is the USB link to this host's management controller"
    return ""
