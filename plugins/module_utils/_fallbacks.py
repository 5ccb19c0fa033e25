# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Networks to use where no ordinary network joins all hosts: routed, unstated, overlay."""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.samewire.vllm.plugins.module_utils import _networks as networks
from ansible_collections.samewire.vllm.plugins.module_utils._networks import (
    Candidate,
    Offer,
    Offers,
    Pins,
)


def routed(offers: Offers, pins: Pins) -> Candidate | None:
    """One address per host in networks of their own: pinned, or host routes and point-to-point.

    Without a pin, only addresses whose prefix says that routing is meant (/31, /32, /127, /128)
    and which are not one end of a cable to another host of the cluster count.
    """
    by_pin = pins.network is not None or set(offers) <= set(pins.interfaces)
    for family in (4, 6):
        ends = {
            name: [
                each
                for each in some
                if not each.obstacle
                and each.address is not None
                and each.address.version == family
                and (by_pin or _is_routed_end(each, offers))
            ]
            for name, some in offers.items()
        }
        if not all(ends.values()):
            continue
        default = {
            name: [each for each in some if each.host.has_default_route(each.interface)]
            for name, some in ends.items()
        }
        single = all(len(some) == 1 for some in ends.values())
        chosen = ends if single else default
        if not all(chosen.values()):
            continue
        picked = {name: some[0] for name, some in chosen.items()}
        if _routes_agree(picked):
            network = networks.covering(each.ip for each in picked.values() if each.ip is not None)
            return Candidate(network, picked, routed=True)
    return None


def _is_routed_end(offer: Offer, offers: Offers) -> bool:
    address = offer.address
    if address is None or address.network.prefixlen < address.max_prefixlen - 1:
        return False
    return not any(
        other.address is not None and other.address.ip in address.network
        for name, some in offers.items()
        if name != offer.host.name
        for other in some
    )


def _routes_agree(picked: Mapping[str, Offer]) -> bool:
    """Whether each host that states its routes reaches every other one through its interface."""
    return all(
        each.host.routes is None or each.host.route_to(other.ip) == each.interface.name
        for each in picked.values()
        for other in picked.values()
        if other is not each and other.ip is not None
    )


def unstated_lan(offers: Offers) -> Candidate | None:
    """The default-route interfaces of all hosts, where facts from a file leave their addresses out."""
    picked = {
        name: each
        for name, some in offers.items()
        for each in some
        if each.obstacle == "unstated" and each.host.has_default_route(each.interface)
    }
    return Candidate(None, picked) if set(picked) == set(offers) else None


def only_overlay(offers: Offers) -> Candidate | None:
    """A tunnel, where some host has nothing else at all and nothing else is shared."""
    found = networks.shared(offers, lambda each: each.obstacle in ("overlay", "wifi"))
    tunnels = [each for each in found if all(o.obstacle == "overlay" for o in each.offers.values())]
    nothing_else = any(
        all(each.obstacle in ("overlay", "loopback") for each in some) for some in offers.values()
    )
    return tunnels[0] if len(found) == len(tunnels) == 1 and nothing_else else None
