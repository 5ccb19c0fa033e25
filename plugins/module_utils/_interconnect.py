# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""From the facts of all hosts to the one network that all layers use, or to the reason why not.

The decision is a pure function of facts and pins. It follows how the programs behave: the kernel
sends by destination network, Ray and vLLM by default take the address of the default route, NCCL
takes the first address of an interface and every active RDMA port unless it is told otherwise.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _fallbacks as fallbacks
from ansible_collections.samewire.vllm.plugins.module_utils import _hca as hca
from ansible_collections.samewire.vllm.plugins.module_utils import _networks as networks
from ansible_collections.samewire.vllm.plugins.module_utils import _notices as warnings
from ansible_collections.samewire.vllm.plugins.module_utils import _rails as rails
from ansible_collections.samewire.vllm.plugins.module_utils import _refusals as refusals
from ansible_collections.samewire.vllm.plugins.module_utils import _topology as topology
from ansible_collections.samewire.vllm.plugins.module_utils._networks import (
    Candidate,
    Offer,
    Offers,
    Pins,
)
from ansible_collections.samewire.vllm.plugins.module_utils._plan import (
    HostPlan,
    NetworkPlan,
    Plan,
    PlanError,
    Refusal,
    Rejected,
    RejectedHca,
    to_json,
)

__all__ = ["Pins", "Plan", "PlanError", "parse_pins", "plan", "to_json"]


_NO_PINS = Pins()


def parse_pins(
    network: str | None, interfaces: Mapping[str, Any], *, alone: bool = False
) -> Pins | PlanError:
    """The user's pins; a network that is no CIDR is an error."""
    try:
        cidr = ipaddress.ip_network(network) if network else None
    except ValueError:
        return PlanError(
            "invalid_pin",
            f"interconnect_network is {network!r}, which is not a network; write its first "
            "address and prefix length, such as 192.168.200.0/24.",
            (),
        )
    return Pins(cidr, {host: str(name) for host, name in interfaces.items() if name}, alone)


def plan(
    hosts: Sequence[topology.Host], cluster: str = "", pins: Pins = _NO_PINS
) -> Plan | PlanError:
    """The interconnect of a cluster, the same whatever the order of hosts and interfaces."""
    try:
        return _plan(_in_order(hosts), cluster, pins)
    except Refusal as refusal:
        return refusal.error


def _in_order(hosts: Sequence[topology.Host]) -> list[topology.Host]:
    """The hosts, their interfaces and RDMA ports by name: the one order that is the same anywhere."""
    return [
        replace(
            host,
            interfaces=tuple(sorted(host.interfaces, key=lambda each: hca.natural(each.name))),
            rdma=None if host.rdma is None else tuple(sorted(host.rdma, key=hca.order)),
        )
        for host in sorted(hosts, key=lambda host: hca.natural(host.name))
    ]


def _plan(hosts: Sequence[topology.Host], cluster: str, pins: Pins) -> Plan:
    pinned = pins.network is not None or bool(pins.interfaces)
    if not hosts:
        raise Refusal("insufficient_facts", "The facts name no host; gather them from each host.")
    alone = len(hosts) == 1
    if alone and not (pinned or pins.alone):
        name = hosts[0].name
        raise Refusal(
            "single_host",
            f"{name} is the only host, so no network is shared; add a host, or set "
            "interconnect_network to the one to use on it alone.",
            (name,),
        )
    offers = networks.collect(hosts, pins)
    refusals.check_pins(offers, pins)
    shared = networks.shared(offers, lambda each: not each.obstacle)
    candidates = _candidates(hosts, offers, pins, shared)
    chosen, because, lost = _chosen(candidates, pins, alone=alone)
    if not pinned:
        refusals.check_duplicates(chosen, offers)
    data = rails.choose(chosen, candidates, pinned)
    notices = [*data.notices, *warnings.notices(chosen, pins)]
    notices += warnings.of_other_family(chosen, shared)
    if not (pinned or data.complete or chosen.routed):
        notices += refusals.check_fallback(chosen, offers)
    return Plan(
        cluster=cluster,
        # Nothing leaves a host that is alone.
        transport="rdma" if data.complete and not alone else "socket",
        network=_network(chosen, because),
        hosts={
            name: _host(name, chosen, offers[name], data, candidates, lost)
            for name in chosen.offers
        },
        warnings=tuple(sorted(notices, key=lambda each: (each.code, each.host or ""))),
    )


def _candidates(
    hosts: Sequence[topology.Host], offers: Offers, pins: Pins, shared: Sequence[Candidate]
) -> list[Candidate]:
    """The networks to choose from, IPv4 where there is any; raises Refusal if there is none."""
    for family in (4, 6):
        found = [each for each in shared if each.network and each.network.version == family]
        if found:
            return found
    routed = fallbacks.routed(offers, pins)
    if routed is not None:
        return [routed]
    cabling = rails.mesh(hosts)
    if cabling is not None and cabling.symmetric:
        lan = fallbacks.unstated_lan(offers)
        if lan is not None:
            return [lan]
    only = fallbacks.only_overlay(offers)
    if only is not None:
        return [only]
    raise refusals.why_none(hosts, offers, cabling)


def _chosen(
    candidates: Sequence[Candidate], pins: Pins, *, alone: bool
) -> tuple[Candidate, list[str], Mapping[topology.Network | None, str]]:
    free = _unambiguous(candidates)
    choice = networks.choose(free)
    best = choice.best[0]
    if len(choice.best) > 1 and not alone:
        names = " and ".join(str(each.network) for each in choice.best)
        raise Refusal(
            "ambiguous",
            f"{names} each join all hosts, and no speed, RDMA port or default route tells them "
            "apart; set interconnect_network to one of them.",
            tuple(best.offers),
        )
    crowded = {} if alone else best.crowded
    for name, interfaces in crowded.items():
        raise Refusal(
            "two_nics_one_subnet",
            f"{name} has {' and '.join(interfaces)} in {best.network}, and its kernel sends "
            "through whichever route comes first; move one to another network, or set "
            f"interconnect_interface of {name}.",
            (name,),
        )
    lost = {
        each.network: f"a host has several interfaces in {each.network}, and InfiniBand needs no IP"
        for each in candidates
        if each not in free
    }
    return best, _because(best, candidates, choice.because, pins), {**choice.lost, **lost}


def _unambiguous(candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """Leave out networks in which a host has several interfaces, where only small data uses sockets.

    That is where native InfiniBand carries NCCL's data, however the sockets go. The usual images of
    clouds give all IPoIB interfaces of a host addresses in one network.
    """
    free = [each for each in candidates if not each.crowded]
    native = all(
        any(map(hca.is_infiniband, hca.usable(each.host))) for each in candidates[0].offers.values()
    )
    return free if free and native else candidates


def _because(
    best: Candidate, candidates: Sequence[Candidate], steps: Sequence[str], pins: Pins
) -> list[str]:
    reasons = []
    if pins.network is not None:
        reasons.append(f"interconnect_network is {pins.network}")
    if pins.interfaces:
        listed = ", ".join(
            f"{name} {pins.interfaces[name]}" for name in sorted(pins.interfaces, key=hca.natural)
        )
        reasons.append(f"interconnect_interface is set: {listed}")
    if best.network is None:
        reasons.append("every host has its default route there, and no other network joins all")
    elif best.routed:
        reasons.append("every host has its own network there, and routers join them")
    elif len(best.offers) == 1 and not reasons:
        reasons.append("the host is alone, and any address of its own will do")
    elif len(candidates) == 1 and not reasons:
        reasons.append("it is the only usable network in which every host has an address")
    else:
        reasons.append("every host has an address in it")
    return [*reasons, *steps]


def _network(chosen: Candidate, because: Sequence[str]) -> NetworkPlan:
    sizes = [each.interface.mtu for each in chosen.offers.values() if each.interface.mtu]
    return NetworkPlan(
        cidr=None if chosen.network is None else str(chosen.network),
        family=4 if chosen.network is None else chosen.network.version,
        mtu=min(sizes, default=None),
        chosen_because=tuple(because),
    )


def _host(
    name: str,
    chosen: Candidate,
    offers: Sequence[Offer],
    data: rails.Rails,
    candidates: Sequence[Candidate],
    lost: Mapping[topology.Network | None, str],
) -> HostPlan:
    offer = chosen.offers[name]
    ports = data.ports[name]
    carrying = {port.hca for port in ports}
    return HostPlan(
        address=None if offer.ip is None else str(offer.ip),
        prefix=None if offer.address is None else offer.address.network.prefixlen,
        interface=offer.interface.name,
        hcas=tuple(port.hca for port in ports),
        gid_index=hca.gid_index(offer.host, ports, offer.ip),
        rail_networks=tuple(
            rails.listed(
                {
                    network
                    for port in ports
                    if not hca.is_infiniband(port)
                    for network in rails.stated_networks(offer.host, port)
                }
            )
        ),
        rejected=tuple(
            Rejected(
                each.interface.name,
                None if each.ip is None else str(each.ip),
                each.because or _lost(each, chosen, candidates, lost),
            )
            for each in offers
            if each is not offer and not _is_noise(each)
        ),
        rejected_hcas=tuple(
            RejectedHca(port.hca, hca.obstacle(port) or data.because)
            for port in offer.host.rdma or ()
            if port.hca not in carrying
        ),
    )


def _lost(
    offer: Offer,
    chosen: Candidate,
    candidates: Sequence[Candidate],
    lost: Mapping[topology.Network | None, str],
) -> str:
    """Why an address without an obstacle was not chosen."""
    host = offer.host.name
    for each in candidates:
        if each.offers[host] is offer and each.network in lost:
            return lost[each.network]
    if offer.address is None:
        return "it has no address"
    network = offer.address.network
    if network == chosen.network:
        first = chosen.offers[host]
        if first.interface.name == offer.interface.name:
            return f"{first.ip} on the same interface comes first"
        return f"{first.interface.name} is in the same network and comes first"
    if any(each.network == network for each in candidates) or network.version != 4:
        return f"IPv{network.version} is not the family of the interconnect"
    return f"{network} does not join all hosts"


def _is_noise(offer: Offer) -> bool:
    """Loopback, and the host's ends of its containers' links: not worth a reader's line."""
    return offer.obstacle == "loopback" or (
        offer.interface.kind == "veth" and offer.obstacle in ("port", "unaddressed")
    )
