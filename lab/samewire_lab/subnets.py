# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Does a subnet of the lab collide with what the machine already uses?"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network


@dataclass(frozen=True)
class Used:
    """A network in use on the machine and who uses it, as a reader would call it."""

    network: IPv4Network
    owner: str


def routes(text: str) -> list[Used]:
    """Return the routed networks in the text of /proc/net/route, without default routes."""
    found = []
    for line in text.splitlines()[1:]:
        interface, destination, *_, mask = line.split()[:8]
        network, netmask = (
            IPv4Address(bytes.fromhex(value)[::-1]) for value in (destination, mask)
        )
        if int(netmask):
            found.append(Used(IPv4Network(f"{network}/{netmask}"), f"interface {interface}"))
    return found


def collision(wanted: Iterable[IPv4Network], used: Iterable[Used]) -> str | None:
    """Return one sentence about the first collision, or None."""
    taken = list(used)
    for network in wanted:
        for other in taken:
            if network.overlaps(other.network):
                return (
                    f"The lab's network {network} overlaps {other.network} of {other.owner} "
                    f"on this machine; free that network, or run the lab on another machine."
                )
    return None
