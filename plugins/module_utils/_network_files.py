# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The files and commands by which a host gives its interfaces addresses, and who else names an interface.

Formats: netplan(5), nm-settings-keyfile(5), interfaces(5) of ifupdown, systemd.network(5).
"""

from __future__ import annotations

import configparser
import ipaddress
import json
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

NETPLAN, NETWORK_MANAGER, IFUPDOWN, IP = "netplan", "NetworkManager", "ifupdown", "ip"
NETPLAN_FILE = "/etc/netplan/60-samewire.yaml"
PROFILES = "/etc/NetworkManager/system-connections"
IFUPDOWN_FILE = "/etc/network/interfaces.d/samewire"

_HEAD = "# Written by samewire.vllm.network_setup, which replaces and removes it; do not edit.\n"
# The kernel's rule is wider; what is left out would need quoting in one of the formats.
_INTERFACE = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9_.][A-Za-z0-9_.-]{0,14}")
_SOURCED = re.compile(r"^\s*source(-directory)?\s+(/etc/network/)?interfaces\.d", re.MULTILINE)
_STANZA = re.compile(r"(auto|allow-[\w-]+|iface|mapping)\s+(.+)")


@dataclass(frozen=True)
class Setup:
    """What one interface is to have: addresses with prefix, and the MTU in bytes where it is to be set."""

    interface: str
    addresses: tuple[str, ...]
    mtu: int | None = None


def is_interface(name: str) -> bool:
    """Tell whether a name is one that every format takes as it is."""
    return bool(_INTERFACE.fullmatch(name))


def profile(interface: str) -> str:
    """Return the name of NetworkManager's profile for an interface."""
    return f"samewire-{interface}"


def files(manager: str, setups: Sequence[Setup]) -> dict[str, str]:
    """Return the files that say it to the manager, text by path; all of them are only root's."""
    if not setups or manager == IP:
        return {}
    if manager == NETPLAN:
        return {NETPLAN_FILE: _netplan(setups)}
    if manager == IFUPDOWN:
        return {IFUPDOWN_FILE: _ifupdown(setups)}
    return {f"{PROFILES}/{profile(each.interface)}.nmconnection": _keyfile(each) for each in setups}


def leaving(manager: str, interfaces: Iterable[str], staying: Iterable[str]) -> list[list[str]]:
    """Return the commands to run while the files for the interfaces are still there."""
    if manager == IFUPDOWN:
        # Whatever stays is taken up again: ifup does nothing for what it has already taken up.
        return [["ifdown", each] for each in interfaces]
    if manager == NETWORK_MANAGER:
        gone = [each for each in interfaces if each not in staying]
        return [["nmcli", "--wait", "20", "connection", "down", profile(each)] for each in gone]
    return []


def entering(managers: Iterable[str], manager: str, interfaces: Iterable[str]) -> list[list[str]]:
    """Return the commands to run when the files are as they are to be.

    managers: all whose files have changed; manager: the one whose files name the interfaces.
    """
    commands = []
    if NETPLAN in managers:
        # A file that netplan refuses is found before anything is applied.
        commands += [["netplan", "generate"], ["netplan", "apply"]]
    if NETWORK_MANAGER in managers:
        commands += [["nmcli", "connection", "reload"]]
    if manager == NETWORK_MANAGER:
        commands += [
            ["nmcli", "--wait", "20", "connection", "up", profile(each)] for each in interfaces
        ]
    if manager == IFUPDOWN:
        commands += [["ifup", each] for each in interfaces]
    return commands


def sources_folder(interfaces_file: str) -> bool:
    """Tell whether /etc/network/interfaces reads the files of its folder interfaces.d."""
    return bool(_SOURCED.search(interfaces_file))


def owner(texts: Mapping[str, str], interface: str, mac: str) -> str | None:
    """Return the first of the files, text by path, that says how the interface is to be set up.

    Each is of systemd-networkd (*.network), NetworkManager (below system-connections), RHEL's
    network-scripts (ifcfg-NAME) or ifupdown (below /etc/network).
    """
    for path, text in sorted(texts.items()):
        if path.endswith(".network"):
            found = _networkd_names(text, interface, mac)
        elif "/system-connections/" in path:
            found = _keyfile_names(text, interface, mac)
        elif "/ifcfg-" in path:
            found = path.endswith(f"/ifcfg-{interface}")
        else:
            found = _ifupdown_names(text, interface)
        if found:
            return path
    return None


def _netplan(setups: Sequence[Setup]) -> str:
    lines = [_HEAD + "network:\n  version: 2\n  ethernets:\n"]
    for each in setups:
        # Quoted as JSON, since YAML takes a bare on or 1e3 for something else. A boot must not wait for
        # a cable.
        lines.append(f"    {json.dumps(each.interface)}:\n      optional: true\n")
        lines.append(f"      addresses: {json.dumps(list(each.addresses))}\n")
        if each.mtu is not None:
            lines.append(f"      mtu: {each.mtu}\n")
    return "".join(lines)


def _keyfile(setup: Setup) -> str:
    # The same interface always has the same profile.
    own = uuid.uuid5(uuid.NAMESPACE_DNS, profile(setup.interface))
    text = (
        f"{_HEAD}[connection]\nid={profile(setup.interface)}\nuuid={own}\ntype=ethernet\n"
        f"interface-name={setup.interface}\nautoconnect-priority=1\n"
    )
    if setup.mtu is not None:
        text += f"\n[ethernet]\nmtu={setup.mtu}\n"
    for version, nothing in ((4, "disabled"), (6, "link-local")):
        own_family = [each for each in setup.addresses if _version(each) == version]
        text += f"\n[ipv{version}]\nmethod={'manual' if own_family else nothing}\n"
        text += "".join(f"address{n}={each}\n" for n, each in enumerate(own_family, 1))
        text += "never-default=true\n" if own_family else ""
    return text


def _ifupdown(setups: Sequence[Setup]) -> str:
    text = _HEAD
    for each in setups:
        text += f"\nauto {each.interface}\n"
        for address in each.addresses:
            family = "inet" if _version(address) == 4 else "inet6"
            text += f"iface {each.interface} {family} static\n    address {address}\n"
            text += f"    mtu {each.mtu}\n" if each.mtu is not None else ""
    return text


def _version(address: str) -> int:
    return ipaddress.ip_interface(address).version


def _parsed(text: str) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True, delimiters=("=",))
    try:
        parser.read_string(text)
    except configparser.Error:
        # Its own program does not read it either.
        parser.clear()
    return parser


def _networkd_names(text: str, interface: str, mac: str) -> bool:
    parser = _parsed(text)
    match = dict(parser["Match"]) if parser.has_section("Match") else {}
    macs = {
        each.lower()
        for key in ("macaddress", "permanentmacaddress")
        for each in (match.get(key) or "").split()
    }
    names = (match.get("name") or "").split()
    if macs and mac.lower() not in macs:
        return False
    if names:
        inverted = names[0].startswith("!")
        patterns = [names[0].lstrip("!"), *names[1:]]
        return inverted != any(fnmatchcase(interface, each) for each in patterns)
    # What matches by driver or path may be this one.
    kind = match.get("type")
    return bool(match) and (kind is None or "ether" in kind.split())


def _keyfile_names(text: str, interface: str, mac: str) -> bool:
    parser = _parsed(text)
    named = parser.get("connection", "interface-name", fallback=None)
    if named:
        return named == interface
    for section in ("ethernet", "802-3-ethernet"):
        bound = parser.get(section, "mac-address", fallback=None)
        if bound and bound.lower() == mac.lower():
            return True
    patterns = parser.get("match", "interface-name", fallback=None) or ""
    return any(fnmatchcase(interface, each) for each in patterns.split(";") if each)


def _ifupdown_names(text: str, interface: str) -> bool:
    for line in text.splitlines():
        found = _STANZA.match(line.strip())
        if found:
            words = found[2].split()
            named = words[:1] if found[1] == "iface" else words
            if any(fnmatchcase(interface, each) for each in named):
                return True
    return False
