# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The RDMA ports of one host: which can carry NCCL's data, which are twins, which GID they use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from ansible_collections.samewire.vllm.plugins.module_utils import _topology as topology

# rdma-core names devices by what they speak; software devices and iWARP are no use to NCCL.
_UNSUITABLE = (
    (re.compile(r"rxe\d*|siw\d*"), "it is a software RDMA device"),
    (re.compile(r"iw[A-Zp]\w*"), "it speaks iWARP, which NCCL cannot use"),
    (re.compile(r"(rdmap|efa_)\w*"), "it is an EFA device, which NCCL uses through its OFI plugin"),
)
_UNSUITABLE_DRIVERS = {
    "rdma_rxe": _UNSUITABLE[0][1],
    "siw": _UNSUITABLE[0][1],
    "efa": _UNSUITABLE[2][1],
}

# Hosts of one cluster share their names of devices, so few texts are parsed often.
_remembered = lru_cache(maxsize=1 << 16)

# systemd's names: P<domain> (decimal), p<bus>, s<slot>, f<function>, np<port of the card>.
_NAME = re.compile(r"(?:en|roce|ib)(?:P(\d+))?p(\d+)s(\d+)f(\d+)(?:np\d+)?")
_PCI = re.compile(r"([0-9a-f]{4,}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])", re.IGNORECASE)


@dataclass(frozen=True)
class Place:
    """Where a PCI function sits. `function` tells the ports of one card apart."""

    domain: int
    bus: int
    slot: int
    function: int


def obstacle(port: topology.RdmaPort) -> str:
    """Why NCCL cannot use this port, empty where it can."""
    if not port.active:
        return f"its port is {port.state}"
    unsuitable = _unsuitable(port.device)
    if unsuitable:
        return unsuitable
    if port.driver in _UNSUITABLE_DRIVERS:
        return _UNSUITABLE_DRIVERS[port.driver]
    if port.link_layer is not None and port.link_layer not in ("Ethernet", "InfiniBand"):
        return f"its link layer is {port.link_layer}"
    if is_roce(port) and port.gids and not _v2(port.gids):
        return "it has no RoCE v2 GID"
    return ""


@_remembered
def _unsuitable(device: str) -> str:
    return next((reason for pattern, reason in _UNSUITABLE if pattern.fullmatch(device)), "")


def usable(host: topology.Host) -> tuple[topology.RdmaPort, ...]:
    """The ports that can carry NCCL's data, by name."""
    key = ("usable",)
    if key not in host.derived:
        host.derived[key] = tuple(
            sorted((port for port in host.rdma or () if not obstacle(port)), key=order)
        )
    found: tuple[topology.RdmaPort, ...] = host.derived[key]
    return found


def is_infiniband(port: topology.RdmaPort) -> bool:
    return port.link_layer == "InfiniBand"


def is_roce(port: topology.RdmaPort) -> bool:
    return port.link_layer == "Ethernet"


def order(port: topology.RdmaPort) -> tuple[int, tuple[tuple[int, int, str], ...], int]:
    """Sort key: PCI domain, then the name with its numbers as numbers (mlx5_2 before mlx5_10)."""
    where = _place(port.pci) or _place(port.device)
    return (where.domain if where else 0, natural(port.device), port.port)


@_remembered
def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key of a name in which numbers count as numbers."""
    return tuple(
        (0, int(part), "") if part.isdigit() else (1, 0, part)
        for part in re.findall(r"\d+|\D+", name)
    )


def on_interface(host: topology.Host, interface: topology.Interface) -> list[topology.RdmaPort]:
    """The usable ports behind an interface, with the PCI twins of their physical ports."""
    key = ("on_interface", interface.name)
    if key not in host.derived:
        host.derived[key] = _on_interface(host, interface)
    return list(host.derived[key])


def _on_interface(host: topology.Host, interface: topology.Interface) -> list[topology.RdmaPort]:
    carriers = host.carriers(interface.name)
    ports = usable(host)
    own = [port for port in ports if port.netdev in carriers]
    if any(port.netdev is None for port in ports):
        addresses = {each.ip for each in interface.addresses or ()}
        place = _place_of(host, interface)[0]
        own += [
            port
            for port in ports
            if port.netdev is None
            and (
                addresses & {*_gid_addresses(port.gids or ())}
                or (place is not None and place_of_port(host, port)[0] == place)
            )
        ]
    names = {port.hca for port in own}
    twins = {
        port.hca: port
        for one in own
        for port in twin_ports(host, one)
        if port.hca not in names and not is_infiniband(port)
    }
    return sorted([*own, *twins.values()], key=order)


def twin_ports(host: topology.Host, one: topology.RdmaPort) -> list[topology.RdmaPort]:
    """The usable ports that are PCI twins of a port."""
    key = ("by_function",)
    if key not in host.derived:
        # Twins have bus, slot and function in common, so each port is compared with few others.
        found: dict[tuple[int, int, int], list[topology.RdmaPort]] = {}
        for port in usable(host):
            place = place_of_port(host, port)[0]
            if place is not None:
                found.setdefault((place.bus, place.slot, place.function), []).append(port)
        host.derived[key] = found
    where = place_of_port(host, one)
    if where[0] is None:
        return []
    alike = host.derived[key].get((where[0].bus, where[0].slot, where[0].function), [])
    return [port for port in alike if twin(where, place_of_port(host, port))]


def twin_interfaces(
    host: topology.Host, one: topology.Interface, other: topology.Interface
) -> bool:
    """Whether two interfaces are PCI twins of one physical port (or the same interface)."""
    return one.name == other.name or twin(_place_of(host, one), _place_of(host, other))


def twin(one: tuple[Place | None, int | None], other: tuple[Place | None, int | None]) -> bool:
    """Whether two functions lead to one physical port, each given as its place and NUMA node.

    A card that is attached to two PCI domains shows each port once per domain, under the same
    bus, slot and function (a DGX Spark's ConnectX-7 does). Cards that are alike but sit at
    different sockets also differ in their NUMA node.
    """
    (a, a_numa), (b, b_numa) = one, other
    if a is None or b is None or a.domain == b.domain:
        return False
    same_socket = a_numa is None or b_numa is None or a_numa == b_numa
    return same_socket and (a.bus, a.slot, a.function) == (b.bus, b.slot, b.function)


def domain(host: topology.Host, interface: topology.Interface) -> int:
    """The PCI domain of an interface, 0 where unknown: the order between twins."""
    place = _place_of(host, interface)[0]
    return place.domain if place else 0


def place_of_port(host: topology.Host, port: topology.RdmaPort) -> tuple[Place | None, int | None]:
    """Where an RDMA port sits, by its PCI address, its interface or its name."""
    key = ("place", port.hca)
    if key not in host.derived:
        host.derived[key] = _place_of_port(host, port)
    found: tuple[Place | None, int | None] = host.derived[key]
    return found


def _place_of_port(host: topology.Host, port: topology.RdmaPort) -> tuple[Place | None, int | None]:
    interface = host.interface(port.netdev)
    by_interface = _place_of(host, interface)[0] if interface else _place(port.netdev)
    return _place(port.pci) or by_interface or _place(port.device), port.numa_node


def gid_index(
    host: topology.Host, ports: Iterable[topology.RdmaPort], address: topology.IP | None
) -> int | None:
    """The one GID index that is right for all ports; None where they differ or cannot be told.

    The GID of a RoCE port mirrors an address of its interface, so the index is that of the
    RoCE v2 entry with the planned address, or with the address of the port's own interface.
    """
    found = {
        _index(host, port, address) if is_roce(port) or port.link_layer is None else None
        for port in ports
    }
    return found.pop() if len(found) == 1 else None


def only_link_local(port: topology.RdmaPort) -> bool:
    """Whether a RoCE port's table has v2 entries, but none with a routable address."""
    entries = [gid.address for gid in _v2(port.gids or ()) if gid.address is not None]
    return bool(entries) and all(each.is_link_local for each in entries)


def gid_addresses(port: topology.RdmaPort) -> list[topology.IP]:
    """The routable addresses of a RoCE port's v2 entries."""
    return [each for each in _gid_addresses(_v2(port.gids or ())) if not each.is_link_local]


def _index(host: topology.Host, port: topology.RdmaPort, address: topology.IP | None) -> int | None:
    entries = [
        (gid.index, topology.mapped_ipv4(gid.address))
        for gid in _v2(port.gids or ())
        if gid.address is not None and not gid.address.is_link_local
    ]
    interface = host.interface(port.netdev)
    own = [each.ip for each in (interface.addresses or ())] if interface else []
    family = 4 if address is None else address.version
    for matches in (
        [index for index, each in entries if each == address],
        [index for index, each in entries if each in own and each.version == family],
        [index for index, each in entries if each.version == family],
    ):
        if matches:
            return min(matches)
    return None


def _v2(gids: Iterable[topology.Gid]) -> list[topology.Gid]:
    return [gid for gid in gids if "v2" in gid.type.lower()]


def _gid_addresses(gids: Iterable[topology.Gid]) -> list[topology.IP]:
    return [topology.mapped_ipv4(gid.address) for gid in gids if gid.address is not None]


def _place_of(
    host: topology.Host, interface: topology.Interface
) -> tuple[Place | None, int | None]:
    where = _place(interface.pci) or _place(interface.name)
    if where is None:
        port = next((each for each in host.rdma or () if each.netdev == interface.name), None)
        where = _place(port.pci) if port else None
    return where, interface.numa_node


@_remembered
def _place(text: str | None) -> Place | None:
    address = _PCI.fullmatch(text or "")
    if address:
        domain_, bus, slot, function = (int(part, 16) for part in address.groups())
        return Place(domain_, bus, slot, function)
    name = _NAME.fullmatch(text or "")
    if name:
        return Place(*(int(part or 0) for part in name.groups()))
    return None
