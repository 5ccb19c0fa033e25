# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What is worth a warning about a chosen interconnect."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.samewire.vllm.plugins.module_utils import _hca as hca
from ansible_collections.samewire.vllm.plugins.module_utils import _networks as networks
from ansible_collections.samewire.vllm.plugins.module_utils._networks import Candidate, Offer, Pins
from ansible_collections.samewire.vllm.plugins.module_utils._plan import Notice

# The bytes from which frames are not small.
_JUMBO = 4_096


def notices(chosen: Candidate, pins: Pins) -> list[Notice]:
    """All warnings about the chosen network, in no order."""
    found = []
    sizes = {name: each.interface.mtu for name, each in chosen.offers.items() if each.interface.mtu}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} {size}" for name, size in sizes.items())
        found.append(
            Notice(
                "mtu_mismatch", f"the interconnect has different MTUs ({listed}); make them equal"
            )
        )
    elif (
        sizes
        and "infiniband" not in {each.interface.kind for each in chosen.offers.values()}
        and max(sizes.values()) < _JUMBO
        and (chosen.speed or 0) >= networks.FAST
    ):
        found.append(
            Notice(
                "small_mtu",
                f"MTU {max(sizes.values())} costs bandwidth on a fast port; 9000 is usual",
            )
        )
    if chosen.network is None:
        found.append(
            Notice(
                "address_unknown", "the facts do not state the addresses of the chosen interfaces"
            )
        )
    if chosen.link_local:
        found.append(
            Notice("link_local", "link-local addresses may change at a reboot; set fixed ones")
        )
    if chosen.routed:
        found.append(
            Notice("routed", "the hosts share no network, so every pair has to be proven reachable")
        )
    kinds = {each.interface.kind for each in chosen.offers.values()}
    if kinds & {"tunnel", "wifi"}:
        found.append(
            Notice("overlay_or_wifi", "the interconnect is a tunnel or Wi-Fi and will be slow")
        )
    for name, each in chosen.offers.items():
        found.extend(_host_notices(name, each, chosen, pins))
    return found


def of_other_family(chosen: Candidate, shared: Sequence[Candidate]) -> list[Notice]:
    """A warning where one family for all layers leaves out a network that is known to be faster."""
    if chosen.network is None or chosen.speed is None:
        return []
    return [
        Notice(
            "faster_network_in_other_family",
            f"{each.network} joins all hosts and is faster ({each.speed} Mb/s), but its addresses are "
            f"IPv{each.network.version}; give its interfaces IPv{chosen.network.version} addresses, or "
            f"set interconnect_network to {each.network}",
        )
        for each in shared
        if each.network is not None
        and each.network.version != chosen.network.version
        and (each.speed or 0) > chosen.speed
    ]


def _host_notices(name: str, offer: Offer, chosen: Candidate, pins: Pins) -> list[Notice]:
    found = []
    if offer.address is not None:
        family = [
            each
            for each in offer.interface.addresses or ()
            if each.version == offer.address.version
            and not (each.version == 6 and each.is_link_local)
        ]
        if family[0] != offer.address:
            found.append(
                Notice(
                    "address_not_first",
                    f"NCCL takes the first address of {offer.interface.name}, {family[0].ip}, "
                    f"not {offer.ip}; put {offer.ip} first",
                    name,
                )
            )
        older = [each.ip for each in offer.interface.addresses or () if each.version == 4]
        if offer.address.version == 6 and older:
            # The kernel lists IPv4 first, and Gloo takes what comes first.
            found.append(
                Notice(
                    "address_not_first",
                    f"Gloo takes the IPv4 address of {offer.interface.name}, {older[0]}, not {offer.ip}; "
                    "remove it from the interface, or use a network of IPv4",
                    name,
                )
            )
    others = _rivals(offer, chosen) if name in pins.interfaces else []
    if others:
        found.append(
            Notice(
                "two_nics_one_subnet",
                f"{', '.join(sorted(others, key=hca.natural))} is in {chosen.network} too, and the "
                "kernel may send through it",
                name,
            )
        )
    for port in hca.on_interface(offer.host, offer.interface):
        interface = offer.host.interface(port.netdev)
        bare_twin = interface is not None and interface.addresses == ()
        if hca.only_link_local(port) and not bare_twin:
            found.append(
                Notice("gid_link_local", f"{port.hca} has only link-local RoCE v2 GIDs", name)
            )
    return found


def _rivals(offer: Offer, chosen: Candidate) -> list[str]:
    """The other interfaces of a host that the kernel may use for the chosen network."""
    if chosen.routed:
        return []
    return [
        each.name
        for each in offer.host.interfaces
        if each.name != offer.interface.name
        and each.up
        and any(address.network == chosen.network for address in each.addresses or ())
        and not hca.twin_interfaces(offer.host, each, offer.interface)
    ]
