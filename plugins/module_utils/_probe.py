# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the facts of this host from sysfs and iproute2; needs no privilege and changes nothing.

They are in the plain form that `_topology` reads, which is not imported here: on a host its classes
would cost more than all that is read.

Formats: `ip -json` of iproute2 4.17 or later, and the kernel's ABI documents sysfs-class-net,
sysfs-class-infiniband and sysfs-bus-pci.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Callable

_PCI = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
# Kinds whose "link" is the interface below; an IPoIB partition is of its parent's kind.
_STACKED = ("vlan", "macvlan", "macvtap", "ipvlan", "infiniband")
_NVIDIA = "0x10de"
_DISPLAY_CLASSES = ("0x0300", "0x0302")

Run = Callable[[Sequence[str]], "tuple[int, str, str]"]
Facts = dict[str, Any]


@dataclass(frozen=True)
class System:
    """The host as the probe sees it: a way to run a program, and the root of sysfs.

    `run` takes an argument list and returns exit code, stdout and stderr; it does not raise.
    A path that cannot be read is None, a folder that cannot be listed is empty.
    """

    run: Run
    sys_root: str = "/sys"

    def read(self, *parts: str) -> str | None:
        try:
            with open(os.path.join(self.sys_root, *parts), encoding="utf-8") as file:
                return file.read().strip()
        except (OSError, UnicodeDecodeError):
            # An empty GID slot or a port without a link answers EINVAL.
            return None

    def listdir(self, *parts: str) -> list[str]:
        try:
            return sorted(os.listdir(os.path.join(self.sys_root, *parts)))
        except OSError:
            return []

    def exists(self, *parts: str) -> bool:
        return os.path.exists(os.path.join(self.sys_root, *parts))

    def target(self, *parts: str) -> str | None:
        """The real path of a link, None where there is none."""
        path = os.path.join(self.sys_root, *parts)
        return os.path.realpath(path) if os.path.lexists(path) else None


def gather(system: System) -> Facts:
    """All facts of the host; what cannot be read is absent with its reason."""
    absent: dict[str, str] = {}
    links = _ip(system, ["address"], "interfaces", absent)
    family = 4 if any(_has_family(link, "inet") for link in links) else 6
    rows = [] if absent else _ip(system, [f"-{family}", "route"], "routes", absent)
    routes = None if absent else list(_routes(rows, family))
    default = next((each["interface"] for each in routes or () if _is_default(each)), None)
    if not system.exists("class", "infiniband"):
        absent["rdma"] = f"no {os.path.join(system.sys_root, 'class', 'infiniband')}"
    if not system.exists("bus", "pci", "devices"):
        absent["gpus"] = f"no {os.path.join(system.sys_root, 'bus', 'pci', 'devices')}"
    return _stated(
        interfaces=[_interface(system, link, default) for link in links],
        rdma=list(_rdma(system)),
        gpus=list(_gpus(system)),
        routes=routes,
        default_route_interface=default,
        absent=absent or None,
    )


def _ip(
    system: System, arguments: Sequence[str], fact: str, absent: dict[str, str]
) -> list[Mapping[str, Any]]:
    code, out, err = system.run(["ip", "-json", "-details", *arguments])
    if code == 0:
        try:
            return [each for each in json.loads(out or "[]") if each]
        except ValueError:
            err = "ip does not print JSON"
    absent[fact] = (err.strip().splitlines() or [f"ip ended with {code}"])[0]
    return []


def _has_family(link: Mapping[str, Any], family: str) -> bool:
    return any(
        each.get("family") == family and each.get("scope") != "host"
        for each in link.get("addr_info", ())
    )


def _interface(system: System, link: Mapping[str, Any], default: str | None) -> Facts:
    name = str(link["ifname"])
    device = ("class", "net", name, "device")
    pci = _pci(system.target(*device))
    up = "UP" in link.get("flags", ())
    type_ = _type(system, link, name)
    return _stated(
        name=name,
        type=type_,
        state=str(link.get("operstate", "unknown")).lower() if up else "down",
        addresses=list(_addresses(link)),
        mtu=link.get("mtu"),
        speed_mbps=_positive(system.read("class", "net", name, "speed")),
        driver=_base(system.target(*device, "driver")),
        pci=pci,
        numa_node=_numa(system, pci),
        master=link.get("master"),
        parent=link.get("link") if type_ in _STACKED else None,
        phys_port=system.read("class", "net", name, "phys_port_name") or None,
        is_default_route=name == default or None,
    )


def _type(system: System, link: Mapping[str, Any], name: str) -> str:
    link_type = link.get("link_type")
    if link_type in ("loopback", "infiniband"):
        return str(link_type)
    kind = link.get("linkinfo", {}).get("info_kind")
    if kind:
        return str(kind)
    if link_type not in ("ether", None):
        return "tunnel"
    if system.exists("class", "net", name, "phy80211") or system.exists(
        "class", "net", name, "wireless"
    ):
        return "wifi"
    if _base(system.target("class", "net", name, "device", "subsystem")) == "usb":
        return "usb"
    return "ethernet"


def _addresses(link: Mapping[str, Any]) -> Iterator[str]:
    for each in link.get("addr_info", ()):
        # Addresses that the kernel itself no longer uses, or soon will not.
        if not each.keys() & {"dadfailed", "deprecated", "temporary"}:
            # An address without a prefix, as ip prints a peer's, is none.
            with contextlib.suppress(ValueError):
                yield str(ipaddress.ip_interface(f"{each.get('local')}/{each.get('prefixlen')}"))


def _routes(rows: Sequence[Mapping[str, Any]], family: int) -> Iterator[Facts]:
    """The routes in the kernel's order (lower metrics first), one per next hop."""
    for row in sorted(rows, key=lambda row: int(row.get("metric", 0))):
        if "linkdown" in row.get("flags", ()):
            continue
        for hop in row.get("nexthops") or [row]:
            # One that leads nowhere, as a blackhole, has no interface.
            if hop.get("dev"):
                yield _stated(
                    destination=row.get("dst"),
                    family=family,
                    interface=hop["dev"],
                    gateway=hop.get("gateway"),
                )


def _is_default(route: Facts) -> bool:
    return route.get("destination") in ("default", "0.0.0.0/0", "::/0")


def _rdma(system: System) -> Iterator[Facts]:
    for device in system.listdir("class", "infiniband"):
        root = ("class", "infiniband", device)
        pci = _pci(system.target(*root, "device"))
        for port in system.listdir(*root, "ports"):
            if port.isdigit():
                yield _rdma_port(system, device, int(port), pci)


def _rdma_port(system: System, device: str, port: int, pci: str | None) -> Facts:
    root = ("class", "infiniband", device, "ports", str(port))
    state = system.read(*root, "state")
    rate = re.match(r"[\d.]+", system.read(*root, "rate") or "")
    link_layer = system.read(*root, "link_layer")
    return _stated(
        device=device,
        port=port,
        # The kernel writes "4: ACTIVE".
        state=state.rpartition(":")[2].strip().capitalize() if state else None,
        link_layer=link_layer,
        rate_gbps=float(rate.group()) if rate else None,
        netdev=_netdev(system, device, port),
        gids=list(_gids(system, root)) if link_layer == "Ethernet" else None,
        driver=_base(system.target("class", "infiniband", device, "device", "driver")),
        pci=pci,
        numa_node=_numa(system, pci),
    )


def _netdev(system: System, device: str, port: int) -> str | None:
    """The interface of a port: the one of its first GID, else the one of its PCI function."""
    root = ("class", "infiniband", device)
    table = (*root, "ports", str(port), "gid_attrs", "ndevs")
    for index in sorted(filter(str.isdigit, system.listdir(*table)), key=int):
        name = system.read(*table, index)
        if name:
            return name
    names = system.listdir(*root, "device", "net")
    by_port = [
        name
        for name in names
        if system.read(*root, "device", "net", name, "dev_port") == str(port - 1)
    ]
    found = by_port or names
    return found[0] if len(found) == 1 else None


def _gids(system: System, root: tuple[str, ...]) -> Iterator[list[Any]]:
    for index in sorted(filter(str.isdigit, system.listdir(*root, "gids")), key=int):
        address = system.read(*root, "gids", index)
        if address and address.strip("0:"):
            kind = system.read(*root, "gid_attrs", "types", index)
            if kind:
                yield [int(index), kind.rpartition("/")[2], _gid(address)]


def _gid(text: str) -> str | None:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return None
    # Python spells mapped addresses in two ways, by version.
    return f"::ffff:{address.ipv4_mapped}" if address.ipv4_mapped else str(address)


def _gpus(system: System) -> Iterator[Facts]:
    for pci in system.listdir("bus", "pci", "devices"):
        root = ("bus", "pci", "devices", pci)
        if system.read(*root, "vendor") == _NVIDIA:
            kind = system.read(*root, "class") or ""
            if kind.startswith(_DISPLAY_CLASSES):
                yield _stated(pci=pci, numa_node=_numa(system, pci))


def _pci(path: str | None) -> str | None:
    """The PCI function that a device's real path leads through, the innermost one."""
    found = _PCI.findall(path or "")
    return found[-1] if found else None


def _numa(system: System, pci: str | None) -> int | None:
    node = system.read("bus", "pci", "devices", pci, "numa_node") if pci else None
    # -1 says that the firmware names no node.
    return int(node) if node and node.isdigit() else None


def _positive(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() and int(text) > 0 else None


def _base(path: str | None) -> str | None:
    return os.path.basename(path) if path else None


def _stated(**values: Any) -> Facts:
    return {key: value for key, value in values.items() if value is not None}
