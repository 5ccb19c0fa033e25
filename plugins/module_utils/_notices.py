# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What is worth a warning about a chosen interconnect."""

from __future__ import annotations

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
    others = [
        each.name
        for each in offer.host.interfaces
        if each.name != offer.interface.name
        and each.up
        and not hca.twin_interfaces(offer.host, each, offer.interface)
        and chosen.network is not None
        and not chosen.routed
        and any(address.network == chosen.network for address in each.addresses or ())
    ]
    if others and name in pins.interfaces:
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
