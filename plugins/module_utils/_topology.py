# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a host says about itself: interfaces, routes, RDMA ports, GPUs, as values and plain data.

The plain form is the one that `interconnect_info` returns and that a facts file holds. A key that
is absent means "not stated", which is not the same as an empty list: `addresses: []` is an
interface known to carry no address. Keys that are not known here are ignored, and a value that
cannot be read counts as not stated.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Union

Address = Union[ipaddress.IPv4Interface, ipaddress.IPv6Interface]
IP = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]
Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]

# A kernel or a writer of facts may call one kind by many names.
_KIND_OF_TYPE = {
    "ethernet": "physical",
    "physical": "physical",
    "ether": "physical",
    "infiniband": "infiniband",
    "ipoib": "infiniband",
    "bond": "bond",
    "team": "bond",
    "vlan": "vlan",
    "bridge": "bridge",
    "openvswitch": "bridge",
    "veth": "veth",
    "netkit": "veth",
    "macvlan": "macvlan",
    "macvtap": "macvlan",
    "ipvlan": "macvlan",
    "wifi": "wifi",
    "wireless": "wifi",
    "wlan": "wifi",
    "loopback": "loopback",
    "usb": "usb",
    "dummy": "dummy",
    "tunnel": "tunnel",
    "overlay": "tunnel",
    "vpn": "tunnel",
    "tun": "tunnel",
    "tap": "tunnel",
    "wireguard": "tunnel",
    "vxlan": "tunnel",
    "geneve": "tunnel",
    "gre": "tunnel",
    "gretap": "tunnel",
    "ipip": "tunnel",
    "sit": "tunnel",
    "ppp": "tunnel",
}

# Names that their makers reserve; they also tell where the kernel only says "ethernet".
_KIND_OF_NAME = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"lo", "loopback"),
        (r"(docker|virbr|lxcbr|lxdbr|podman|cni)\d*|docker_gwbridge|cni-podman\d+", "bridge"),
        (r"br-[0-9a-f]{12}|cbr0|kube-bridge|nerdctl\d+|incusbr\d+|mpqemubr\d+", "bridge"),
        (r"(tailscale|wg|tun|tap|utun|zt|nebula|vxlan|geneve|gre)\w*", "tunnel"),
        (r"flannel\..+|weave|cilium_\w+|vxlan\.calico", "tunnel"),
        (r"wlan\d*|wl[opsxP]\w+|ath\d+", "wifi"),
        (r"(veth|cali|lxc)\w+", "veth"),
        (r"usb\d+", "usb"),
        (r"ib[spP]?\d+\w*", "infiniband"),
        (r"bond\d+", "bond"),
        (r"\w+\.\d+|vlan\d+", "vlan"),
    )
)


# Hosts of one cluster share their names of interfaces, so few texts are parsed often.
@lru_cache(maxsize=1 << 16)
def _kind(stated: str | None, name: str) -> str:
    kind = _KIND_OF_TYPE.get((stated or "").lower(), "unknown")
    if kind not in ("unknown", "physical"):
        return kind
    return next((named for pattern, named in _KIND_OF_NAME if pattern.fullmatch(name)), kind)


@dataclass(frozen=True)
class Interface:
    """One network interface; speed in Mb/s, MTU in bytes.

    `addresses` is None where the facts do not state them, and in the kernel's order otherwise.
    """

    name: str
    type: str | None = None
    state: str | None = None
    addresses: tuple[Address, ...] | None = None
    mtu: int | None = None
    speed_mbps: int | None = None
    driver: str | None = None
    pci: str | None = None
    numa_node: int | None = None
    master: str | None = None
    parent: str | None = None
    phys_port: str | None = None
    is_default_route: bool = False

    @property
    def kind(self) -> str:
        """What the interface is, from its type and, where that says little, its name.

        One of physical, infiniband, bond, vlan, bridge, veth, macvlan, tunnel, wifi, loopback,
        usb, dummy, unknown.
        """
        return _kind(self.type, self.name)

    @property
    def up(self) -> bool:
        """Whether it can carry traffic; tunnels and dummies report `unknown`."""
        return (self.state or "unknown").lower() in ("up", "unknown")


@dataclass(frozen=True)
class Gid:
    """One entry of an RDMA port's GID table. `address` is None where the facts only describe it."""

    index: int
    type: str
    address: IP | None


@dataclass(frozen=True)
class RdmaPort:
    """One port of an RDMA device; the rate is in Gb/s. `gids` is None where not stated."""

    device: str
    port: int = 1
    state: str | None = None
    link_layer: str | None = None
    rate_gbps: float | None = None
    netdev: str | None = None
    gids: tuple[Gid, ...] | None = None
    driver: str | None = None
    pci: str | None = None
    numa_node: int | None = None

    @property
    def active(self) -> bool:
        return (self.state or "active").lower() in ("active", "up")

    @property
    def hca(self) -> str:
        """The form that NCCL_IB_HCA takes: DEVICE:PORT."""
        return f"{self.device}:{self.port}"


@dataclass(frozen=True)
class Gpu:
    pci: str
    numa_node: int | None = None


@dataclass(frozen=True)
class Route:
    """One route of the main table. A destination of prefix length 0 is the default route."""

    destination: Network
    interface: str
    gateway: str | None = None


@dataclass(frozen=True)
class Host:
    """The facts of one host; `rdma`, `gpus` and `routes` are None where they are not stated.

    `absent` holds, by fact, the reason why it could not be read.
    """

    name: str
    interfaces: tuple[Interface, ...] = ()
    rdma: tuple[RdmaPort, ...] | None = None
    gpus: tuple[Gpu, ...] | None = None
    routes: tuple[Route, ...] | None = None
    default_route_interface: str | None = None
    absent: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def derived(self) -> dict[tuple[str, ...], Any]:
        """What was computed from these facts, which never change, by what it is."""
        return {}

    @cached_property
    def _by_name(self) -> Mapping[str | None, Interface]:
        return {each.name: each for each in reversed(self.interfaces)}

    @cached_property
    def _by_master(self) -> Mapping[str | None, tuple[Interface, ...]]:
        found: dict[str | None, tuple[Interface, ...]] = {}
        for each in self.interfaces:
            found[each.master] = (*found.get(each.master, ()), each)
        return found

    def interface(self, name: str | None) -> Interface | None:
        return self._by_name.get(name)

    def has_default_route(self, interface: Interface) -> bool:
        return interface.is_default_route or interface.name == self.default_route_interface

    def members(self, master: str) -> tuple[Interface, ...]:
        """The ports of a bond or bridge."""
        return self._by_master.get(master, ())

    def carriers(self, name: str) -> frozenset[str]:
        """The interface and all below it: ports of a bond or bridge, parents of VLANs and partitions."""
        key = ("carriers", name)
        if key not in self.derived:
            self.derived[key] = self._carriers(name)
        known: frozenset[str] = self.derived[key]
        return known

    def _carriers(self, name: str) -> frozenset[str]:
        found: set[str] = set()
        queue = [name]
        while queue:
            current = queue.pop()
            if current in found:
                continue
            found.add(current)
            queue.extend(member.name for member in self.members(current))
            interface = self.interface(current)
            if interface is not None and interface.kind in ("vlan", "macvlan", "infiniband"):
                parent = interface.parent or current.rpartition(".")[0]
                queue.extend([parent] if parent else [])
        return frozenset(found)

    def route_to(self, address: IP) -> str | None:
        """The interface of the longest matching route, None without one (or without routes in the facts)."""
        matching = [route for route in self.routes or () if address in route.destination]
        if not matching:
            return None
        return max(matching, key=lambda route: route.destination.prefixlen).interface


def parse_host(name: str, facts: Mapping[str, Any]) -> Host:
    """The facts of one host from their plain form; bad keys and values never raise."""
    interfaces = tuple(_interface(each) for each in _named(facts.get("interfaces"), "name"))
    default = _text(facts.get("default_route_interface"))
    if default is None:
        default = next((each.name for each in interfaces if each.is_default_route), None)
    return Host(
        name=name,
        interfaces=interfaces,
        rdma=_optional(facts.get("rdma"), "device", _rdma_port),
        gpus=_optional(facts.get("gpus"), "pci", _gpu),
        routes=_routes(facts.get("routes")),
        default_route_interface=default,
        absent={
            _text(key) or "": _text(value) or ""
            for key, value in _mapping(facts.get("absent")).items()
        },
    )


def parse_cluster(document: Mapping[str, Any]) -> tuple[Host, ...]:
    """All hosts of a facts file, a mapping whose `hosts` is a list of named hosts."""
    return tuple(
        parse_host(str(each["name"]), each) for each in _named(document.get("hosts"), "name")
    )


def mapped_ipv4(address: IP) -> IP:
    """The IPv4 address behind an IPv4-mapped IPv6 one (the form of a GID), any other address unchanged."""
    inner = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return address if inner is None else inner


def _interface(facts: Mapping[str, Any]) -> Interface:
    stated = facts.get("addresses")
    return Interface(
        name=str(facts["name"]),
        type=_text(facts.get("type")),
        state=_text(facts.get("state")),
        addresses=None if stated is None else tuple(_addresses(stated)),
        mtu=_integer(facts.get("mtu")),
        speed_mbps=_integer(facts.get("speed_mbps")),
        driver=_text(facts.get("driver")),
        pci=_text(facts.get("pci")),
        numa_node=_integer(facts.get("numa_node")),
        master=_text(facts.get("master")),
        parent=_text(facts.get("parent")),
        phys_port=_text(facts.get("phys_port")),
        is_default_route=facts.get("is_default_route") is True,
    )


def _rdma_port(facts: Mapping[str, Any]) -> RdmaPort:
    gids = facts.get("gids")
    return RdmaPort(
        device=str(facts["device"]),
        port=_integer(facts.get("port")) or 1,
        state=_text(facts.get("state")),
        link_layer=_text(facts.get("link_layer")),
        rate_gbps=_number(facts.get("rate_gbps")),
        netdev=_text(facts.get("netdev")),
        gids=tuple(_gids(gids)) if isinstance(gids, (list, tuple)) else None,
        driver=_text(facts.get("driver")),
        pci=_text(facts.get("pci")),
        numa_node=_integer(facts.get("numa_node")),
    )


def _gpu(facts: Mapping[str, Any]) -> Gpu:
    return Gpu(pci=_text(facts["pci"]) or "", numa_node=_integer(facts.get("numa_node")))


def _gids(rows: Iterable[Any]) -> Iterable[Gid]:
    for row in rows:
        if isinstance(row, (list, tuple)) and len(row) == 3 and _integer(row[0]) is not None:
            yield Gid(index=int(float(row[0])), type=_text(row[1]) or "", address=_ip(row[2]))


def _routes(rows: Any) -> tuple[Route, ...] | None:
    if not isinstance(rows, (list, tuple)):
        return None
    found = []
    for row in _named(rows, "interface"):
        default = "::/0" if row.get("family") == 6 else "0.0.0.0/0"
        text = _text(row.get("destination")) or ""
        try:
            network = ipaddress.ip_network(default if text == "default" else text, strict=False)
        except ValueError:
            continue
        found.append(Route(network, str(row["interface"]), _text(row.get("gateway"))))
    return tuple(found)


def _addresses(values: Any) -> Iterable[Address]:
    for value in values if isinstance(values, (list, tuple)) else ():
        try:
            yield ipaddress.ip_interface(_text(value) or "")
        except ValueError:
            continue


def _ip(value: Any) -> IP | None:
    try:
        return ipaddress.ip_address(_text(value) or "")
    except ValueError:
        return None


def _optional(values: Any, key: str, parse: Any) -> tuple[Any, ...] | None:
    if not isinstance(values, (list, tuple)):
        return None
    return tuple(parse(each) for each in _named(values, key))


def _named(values: Any, key: str) -> list[Mapping[str, Any]]:
    """The entries of a list that are mappings and carry the key that names them."""
    entries = values if isinstance(values, (list, tuple)) else ()
    return [each for each in entries if isinstance(each, Mapping) and each.get(key) is not None]


def _mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    try:
        return None if value is None else str(value)
    except ValueError:  # an integer of thousands of digits
        return None


def _integer(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else int(number)


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
