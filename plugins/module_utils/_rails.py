# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Which RDMA ports of all hosts carry the data, once the network of the sockets is chosen."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Callable

from ansible_collections.samewire.vllm.plugins.module_utils import _hca as hca
from ansible_collections.samewire.vllm.plugins.module_utils import _networks as networks
from ansible_collections.samewire.vllm.plugins.module_utils import _topology as topology
from ansible_collections.samewire.vllm.plugins.module_utils._plan import Notice, Refusal

Ports = Mapping[str, Sequence[topology.RdmaPort]]
# The widest private network; two addresses without a prefix that differ in it share no network.
_WIDEST_PREFIX = 8

_NOT_ON_PORT = "it is not on the port that carries the interconnect"


@dataclass(frozen=True)
class Rails:
    """The ports that carry data, by host name, why the other usable ones do not, and warnings."""

    ports: Ports
    because: str = _NOT_ON_PORT
    notices: tuple[Notice, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every host has a rail: without that, NCCL has to use sockets on all of them."""
        return all(self.ports.values())


@dataclass(frozen=True)
class Mesh:
    """How the addressed RoCE ports of all hosts are cabled when no network joins all hosts.

    `cabled` is true where some pair of hosts shares a network; `symmetric` is true where every
    pair does and both PCI twins of every cable carry an address, which NCCL's subnet-aware
    routing needs (NVIDIA's playbook for three DGX Sparks in a ring asks for it).
    """

    ports: Ports
    cabled: bool
    symmetric: bool


def choose(
    chosen: networks.Candidate, candidates: Sequence[networks.Candidate], pinned: bool
) -> Rails:
    """The rails that go with the chosen network; raises Refusal where they cannot work.

    Native InfiniBand needs no IP and wins. Else the RoCE ports behind the chosen interfaces (with
    their PCI twins) and behind equal RDMA networks. Else, where sockets use a network without
    RDMA, the RoCE ports that are not the default route's.
    """
    hosts = [each.host for each in chosen.offers.values()]
    infiniband = _each(hosts, lambda host: list(filter(hca.is_infiniband, hca.usable(host))))
    if all(infiniband.values()):
        return Rails(infiniband, "InfiniBand and Ethernet rails are never mixed")
    own = {
        name: hca.on_interface(each.host, each.interface) for name, each in chosen.offers.items()
    }
    if all(own.values()):
        return _behind_networks(chosen, own, candidates)
    if any(own.values()):
        return _incomplete(hosts, own)
    separate = _each(hosts, lambda host: _roce_apart(host, chosen.offers[host.name].interface))
    if not all(separate.values()):
        return _incomplete(hosts, separate)
    return _apart(hosts, separate, pinned)


def mesh(hosts: Sequence[topology.Host]) -> Mesh | None:
    """The cabling of the RoCE ports, None where some host has none with a known address."""
    ports = _each(hosts, lambda host: [each for each in _roce(host) if _ip_networks(host, each)])
    if len(hosts) < 2 or not all(ports.values()):
        return None
    reach = {host.name: _reach(host, ports[host.name]) for host in hosts}
    if set.intersection(*reach.values()):
        return None
    shared = [bool(reach[a] & reach[b]) for a, b in combinations(sorted(reach), 2)]
    twins = all(
        any(
            hca.twin(hca.place_of_port(host, port), hca.place_of_port(host, other))
            for other in ports[host.name]
        )
        for host in hosts
        for port in _roce(host)
    )
    addressed = all(len(ports[host.name]) == len(_roce(host)) for host in hosts)
    return Mesh(ports, any(shared), all(shared) and twins and addressed)


def unaddressed(hosts: Sequence[topology.Host]) -> dict[str, tuple[str, ...]]:
    """The interfaces of active RoCE ports that are known to carry no address, by host name."""
    return {
        host.name: tuple(
            str(port.netdev)
            for port in _roce(host)
            if (interface := host.interface(port.netdev)) is not None
            and interface.up
            and not interface.master
            and interface.addresses is not None
            and not _ip_networks(host, port)
        )
        for host in hosts
    }


def _behind_networks(
    chosen: networks.Candidate,
    own: Ports,
    candidates: Sequence[networks.Candidate],
) -> Rails:
    """The ports behind the chosen network, and those behind equal networks: more rails."""
    ports = {name: list(some) for name, some in own.items()}
    separate = False
    for other in candidates:
        equal = other.speed == chosen.speed or None in (other.speed, chosen.speed)
        rail = other.rdma and equal and not other.default_route and not chosen.default_route
        if other is chosen or not rail:
            continue
        for name, each in other.offers.items():
            known = {port.hca for port in ports[name]}
            more = [
                port
                for port in hca.on_interface(each.host, each.interface)
                if port.hca not in known
            ]
            separate = separate or bool(more)
            ports[name] += more
    for some in ports.values():
        some.sort(key=hca.order)
    return Rails(ports, notices=(_separate_rails(),) if separate else ())


def _apart(hosts: Sequence[topology.Host], ports: Ports, pinned: bool) -> Rails:
    """RoCE rails beside the network of the sockets: they must share networks of their own."""
    bare = unaddressed(hosts)
    addressed = {
        name: [each for each in some if each.netdev not in bare[name]]
        for name, some in ports.items()
    }
    if not any(addressed.values()):
        return _without_address(bare, ports, pinned)
    ports = _each(hosts, lambda host: _with_twins(host, addressed[host.name], ports[host.name]))
    if not all(ports.values()):
        return _incomplete(hosts, ports)
    known = {host.name: _reach(host, ports[host.name]) for host in hosts}
    if not all(known.values()):
        return Rails(ports)
    common = set.intersection(*known.values())
    if common:

        def joined(host: topology.Host) -> list[topology.RdmaPort]:
            kept = [port for port in ports[host.name] if _reach(host, [port]) & common]
            return _with_twins(host, kept, ports[host.name])

        return Rails(
            _each(hosts, joined),
            "its network does not join all hosts",
            (_separate_rails(),) if len(common) > 1 else (),
        )
    return _without_common_network(hosts, ports, known, pinned)


def _without_common_network(
    hosts: Sequence[topology.Host],
    ports: Ports,
    known: Mapping[str, set[topology.Network]],
    pinned: bool,
) -> Rails:
    cabling = mesh(hosts)
    if cabling is not None and cabling.symmetric:
        return Rails(cabling.ports, notices=(ring_notice(),))
    names = tuple(known)
    none: Ports = {name: [] for name in ports}
    if cabling is not None and cabling.cabled:
        if pinned:
            return Rails(none, "its network joins only some hosts")
        raise Refusal("no_common_subnet", mesh_message(known), names)
    if all(each.prefixlen >= each.max_prefixlen - 1 for some in known.values() for each in some):
        routed = (
            "the RDMA ports share no network and are taken as routed; prove every rail before use"
        )
        return Rails(ports, notices=(Notice("rails_routed", routed),))
    if pinned:
        return Rails(none, "its network joins no other host")
    described = "; ".join(f"{name} {_listed(some)}" for name, some in known.items())
    raise Refusal(
        "rails_not_routed",
        f"The RDMA ports of the hosts share no network ({described}); give them addresses in one "
        "network per rail, or set interconnect_network to use sockets only.",
        names,
    )


def _without_address(bare: Mapping[str, tuple[str, ...]], ports: Ports, pinned: bool) -> Rails:
    if pinned:
        return Rails({name: [] for name in ports}, "its interface has no address")
    raise Refusal("active_port_without_address", bare_message(bare), tuple(bare))


def _incomplete(hosts: Sequence[topology.Host], ports: Ports) -> Rails:
    """Some host has no rail: sockets on all hosts, said aloud if others have rails.

    A host whose RDMA facts are not stated leaves the rails of the others as they are seen.
    """
    if not any(ports.values()):
        return Rails(ports)
    lacking = [host for host in hosts if not ports[host.name]]
    notices = tuple(
        Notice(
            "rdma_not_on_all_hosts",
            "it has no RDMA port on the interconnect while other hosts have, so NCCL uses sockets",
            host.name,
        )
        for host in lacking
    )
    if all(host.rdma is None for host in lacking):
        return Rails(ports, notices=notices)
    names = ", ".join(host.name for host in lacking)
    return Rails({name: [] for name in ports}, f"{names} has no RDMA port to match", notices)


def bare_message(bare: Mapping[str, tuple[str, ...]]) -> str:
    """The sentence about active fast ports without an address."""
    ports = "; ".join(f"{name}: {', '.join(some)}" for name, some in bare.items())
    return (
        f"Fast ports are up but carry no IP address ({ports}); give one of them on each host an "
        "address in a network of its own, or set interconnect_network to use another network."
    )


def mesh_message(known: Mapping[str, set[topology.Network]]) -> str:
    """The sentence about point-to-point cables that join pairs of hosts only."""
    described = "; ".join(f"{name} {_listed(some)}" for name, some in known.items())
    return (
        f"The fast networks each join only some of the hosts ({described}), and NCCL needs one "
        "that joins all, or both PCI twins of every cable addressed; connect them through one "
        "network, or set interconnect_network to use sockets on the network that all share."
    )


def ring_notice() -> Notice:
    return Notice(
        "rails_point_to_point",
        "each RDMA network joins one pair of hosts: NCCL 2.30 or later with "
        "NCCL_IB_SUBNET_AWARE_ROUTING=1 and NCCL_IB_MERGE_NICS=0 is needed",
    )


def _separate_rails() -> Notice:
    return Notice(
        "rails_in_separate_networks",
        "the rails are in separate networks: NCCL must not cross them (NCCL_CROSS_NIC=0)",
    )


def _each(
    hosts: Sequence[topology.Host],
    ports: Callable[[topology.Host], list[topology.RdmaPort]],
) -> dict[str, list[topology.RdmaPort]]:
    return {host.name: ports(host) for host in hosts}


def _roce(host: topology.Host) -> list[topology.RdmaPort]:
    """Usable RoCE ports that are not behind the default route."""
    default = host.carriers(host.default_route_interface) if host.default_route_interface else ()
    return [
        port
        for port in hca.usable(host)
        if not hca.is_infiniband(port) and (port.netdev is None or port.netdev not in default)
    ]


def _roce_apart(host: topology.Host, chosen: topology.Interface) -> list[topology.RdmaPort]:
    behind = hca.on_interface(host, chosen)
    return [port for port in _roce(host) if port not in behind]


def _with_twins(
    host: topology.Host,
    kept: Sequence[topology.RdmaPort],
    ports: Sequence[topology.RdmaPort],
) -> list[topology.RdmaPort]:
    """The kept ports and the PCI twins of their physical ports, which need no address."""
    places = [hca.place_of_port(host, port) for port in kept]
    return [
        port
        for port in ports
        if port in kept or any(hca.twin(hca.place_of_port(host, port), each) for each in places)
    ]


def _ip_networks(host: topology.Host, port: topology.RdmaPort) -> set[topology.Network]:
    """The networks of a RoCE port: those of its interface, else those that its GIDs hint at."""
    return stated_networks(host, port) or {
        ipaddress.ip_network(f"{each}/{_WIDEST_PREFIX}", strict=False)
        for each in hca.gid_addresses(port)
    }


def stated_networks(host: topology.Host, port: topology.RdmaPort) -> set[topology.Network]:
    """The networks of a port's interface and of the VLANs and bonds on it."""
    key = ("networks_by_carrier",)
    if key not in host.derived:
        found: dict[str, set[topology.Network]] = {}
        for each in host.interfaces:
            own = {
                address.network
                for address in each.addresses or ()
                if not (address.version == 6 and address.is_link_local)
            }
            if own and each.kind != "bridge":
                for name in host.carriers(each.name):
                    found.setdefault(name, set()).update(own)
        host.derived[key] = found
    known: dict[str | None, set[topology.Network]] = host.derived[key]
    return known.get(port.netdev, set()) if host.interface(port.netdev) is not None else set()


def _reach(host: topology.Host, ports: Sequence[topology.RdmaPort]) -> set[topology.Network]:
    return {network for port in ports for network in _ip_networks(host, port)}


def listed(some: Iterable[topology.Network]) -> list[str]:
    """Networks as text, in the order of their addresses."""
    return [str(each) for each in sorted(some, key=lambda e: (e.version, int(e.network_address)))]


def _listed(some: Iterable[topology.Network]) -> str:
    return ", ".join(listed(some))
