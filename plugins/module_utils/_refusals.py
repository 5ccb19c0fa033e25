# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Why there is no interconnect: one code and one sentence that names host, value and cure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ansible_collections.samewire.vllm.plugins.module_utils import _hca as hca
from ansible_collections.samewire.vllm.plugins.module_utils import _networks as networks
from ansible_collections.samewire.vllm.plugins.module_utils import _rails as rails
from ansible_collections.samewire.vllm.plugins.module_utils import _topology as topology
from ansible_collections.samewire.vllm.plugins.module_utils._networks import (
    Candidate,
    Offer,
    Offers,
    Pins,
)
from ansible_collections.samewire.vllm.plugins.module_utils._plan import Notice, Refusal

_WIRED = ("physical", "infiniband", "bond")


def check_pins(offers: Offers, pins: Pins) -> None:
    """Raises Refusal where a pin cannot hold."""
    for name in sorted(pins.interfaces, key=hca.natural):
        wanted = pins.interfaces[name]
        if name not in offers:
            raise Refusal(
                "invalid_pin",
                f"interconnect_interface is set for {name}, which is not a host of the cluster; "
                f"its hosts are {', '.join(offers)}.",
                (name,),
            )
        some = [each for each in offers[name] if each.interface.name == wanted]
        if not some:
            names = dict.fromkeys(each.interface.name for each in offers[name])
            raise Refusal(
                "invalid_pin",
                f"interconnect_interface of {name} is {wanted}, which {name} does not have; "
                f"it has {', '.join(names) or 'none'}.",
                (name,),
            )
        if all(each.obstacle for each in some):
            raise Refusal(
                "invalid_pin",
                f"interconnect_interface of {name} is {wanted}, which cannot be used: "
                f"{some[0].because}; name another interface.",
                (name,),
            )
    if pins.network is None:
        return
    for name, offered in offers.items():
        if all(each.obstacle for each in offered):
            inside = [each for each in offered if each.ip is not None and each.ip in pins.network]
            reason = (
                f"{inside[0].ip} on {inside[0].interface.name} cannot be used: {inside[0].because}"
                if inside
                else f"it has {_addresses(offered)}"
            )
            raise Refusal(
                "invalid_pin",
                f"interconnect_network is {pins.network}, but {name} has no usable address in it "
                f"({reason}); give it one, or set another network.",
                (name,),
            )


def check_duplicates(chosen: Candidate, offers: Offers) -> None:
    """Raises Refusal where an address that two hosts have spoils a better network."""
    for name, some in offers.items():
        for each in some:
            if each.obstacle != "duplicate":
                continue
            faster = (networks.speed(each) or 0) > (chosen.speed or networks.speed(each) or 0)
            if faster or hca.on_interface(each.host, each.interface):
                raise _duplicate(each, (name,))


def check_fallback(chosen: Candidate, offers: Offers) -> tuple[Notice, ...]:
    """Raises Refusal where the default route's network would stand in for a broken fabric.

    Fast ports that are up on every host, and have no address, are such a fabric.
    A network that some hosts have and others lack is a fabric if it joins two hosts, has RDMA, is
    faster, or if a host that lacks it has a port that is up without an address. Else it is
    somebody's second network, and worth a warning.
    """
    if not all(each.host.has_default_route(each.interface) for each in chosen.offers.values()):
        return ()
    bare_fast = _bare_ports([each.host for each in chosen.offers.values()])
    if chosen.speed is not None and chosen.speed < networks.FAST and all(bare_fast.values()):
        raise Refusal(
            "active_port_without_address", rails.bare_message(bare_fast), tuple(bare_fast)
        )
    notices = []
    for network, members in _partial_networks(chosen, offers).items():
        lacking = [name for name in offers if name not in members]
        bare = {name: _bare_wired(chosen.offers[name].host) for name in lacking}
        first = next(iter(members.values()))
        faster = (networks.speed(first) or 0) > (chosen.speed or networks.speed(first) or 0)
        rdma = any(hca.on_interface(each.host, each.interface) for each in members.values())
        if len(members) > 1 or rdma or faster or any(bare.values()):
            described = "; ".join(
                f"{name} has {_addresses(offers[name])}"
                + "".join(f", and {port} up without an address" for port in bare[name])
                for name in lacking
            )
            raise Refusal(
                "no_common_subnet",
                f"{network} joins {', '.join(members)}, but {', '.join(lacking)} "
                f"{'has' if len(lacking) == 1 else 'have'} no usable address in it ({described}); "
                f"add one, or set interconnect_network to {chosen.network} to use the network of "
                "the default route.",
                tuple(lacking),
            )
        notices.append(
            Notice(
                "network_not_on_all_hosts",
                f"{network} joins only {', '.join(members)}, so the interconnect is the network of "
                f"the default route; for {network}, give {', '.join(lacking)} an address in it",
            )
        )
    return tuple(notices)


def _partial_networks(
    chosen: Candidate, offers: Offers
) -> Mapping[topology.Network, Mapping[str, Offer]]:
    """The usable networks beside the chosen one that some hosts lack, with their members."""
    found: dict[topology.Network, dict[str, Offer]] = {}
    for name, offered in offers.items():
        for each in offered:
            if each.address is None or each.obstacle or each.host.has_default_route(each.interface):
                continue
            if chosen.network is not None and each.address.version == chosen.network.version:
                found.setdefault(each.address.network, {}).setdefault(name, each)
    return {
        network: members
        for network, members in sorted(
            found.items(), key=lambda item: (-len(item[1]), int(item[0].network_address))
        )
        if len(members) < len(offers)
    }


def _bare_wired(host: topology.Host) -> list[str]:
    """Wired ports that are up and known to carry no address, not counting a container's links."""
    return [
        each.name
        for each in host.interfaces
        if each.up
        and not each.master
        and each.addresses is not None
        and all(address.is_link_local for address in each.addresses)
        and (
            each.kind in _WIRED
            or (each.kind == "veth" and topology.Interface(each.name).kind == "unknown")
        )
    ]


def why_none(hosts: Sequence[topology.Host], offers: Offers, cabling: rails.Mesh | None) -> Refusal:
    """Why no network joins all hosts, the most telling reason first."""
    names = tuple(offers)
    usable = {name: [each for each in some if not each.obstacle] for name, some in offers.items()}

    for name, some in offers.items():
        on_loopback = [
            each for each in some if each.obstacle == "loopback" and each.ip and _is_global(each.ip)
        ]
        if not usable[name] and on_loopback:
            address = on_loopback[0].address
            return Refusal(
                "address_only_on_loopback",
                f"{name} has its address {address} on {on_loopback[0].interface.name} only, where "
                "NCCL finds 127.0.0.1 first; move it to a dummy interface.",
                (name,),
            )
    bare = _bare_ports(hosts)
    if all(bare.values()):
        return Refusal("active_port_without_address", rails.bare_message(bare), names)
    slow = _slow(offers)
    if slow:
        listed = "; ".join(f"{name}: {', '.join(some)}" for name, some in slow.items() if some)
        return Refusal(
            "overlay_or_wifi_only",
            f"Only Wi-Fi or tunnels join all hosts ({listed}); give the wired ports addresses in "
            "one network, or set interconnect_network to accept a slow one.",
            names,
        )
    for host in hosts:
        if not usable[host.name] and not _is_stated(offers[host.name]):
            reason = host.absent.get("interfaces", "no interface has a stated address")
            return Refusal(
                "insufficient_facts",
                f"The facts of {host.name} state no usable address ({reason}); gather them on the "
                "host itself.",
                (host.name,),
            )
    local = _host_local_error(offers, usable)
    if local is not None:
        return local
    families = {n: {e.address.version for e in some if e.address} for n, some in usable.items()}
    if all(families.values()) and not set.intersection(*families.values()):
        listed = "; ".join(
            f"{name} IPv{' and IPv'.join(map(str, sorted(some)))}"
            for name, some in families.items()
        )
        return Refusal(
            "address_family_conflict",
            f"The hosts have no address family in common ({listed}); give all of them IPv4.",
            names,
        )
    if cabling is not None and cabling.cabled:
        known = {n: {e.address.network for e in some if e.address} for n, some in usable.items()}
        return Refusal("no_common_subnet", rails.mesh_message(known), names)
    return _no_common_subnet(offers, usable)


def _slow(offers: Offers) -> dict[str, list[str]]:
    """The Wi-Fi and tunnel interfaces by host, empty where those join the hosts no better."""
    joined = networks.shared(offers, lambda each: each.obstacle in ("", "overlay", "wifi"))
    # Overlays give every host an address of its own and route between them.
    tunnels = all(any(each.obstacle == "overlay" for each in some) for some in offers.values())
    if not joined and not tunnels:
        return {}
    return {
        name: list(
            dict.fromkeys(e.interface.name for e in some if e.obstacle in ("overlay", "wifi"))
        )
        for name, some in offers.items()
    }


def _host_local_error(offers: Offers, usable: Offers) -> Refusal | None:
    duplicates = networks.shared(offers, lambda each: each.obstacle in ("", "duplicate"))
    if duplicates:
        clash = {n: e for n, e in duplicates[0].offers.items() if e.obstacle == "duplicate"}
        return _duplicate(next(iter(clash.values())), tuple(clash))
    for name, some in offers.items():
        local = [each for each in some if each.obstacle == "host_local"]
        if local and not usable[name]:
            return Refusal(
                "host_local_subnet",
                f"{name} offers only {local[0].address} on {local[0].interface.name}, which no "
                f"other host can reach: {local[0].because}; use the host's own network.",
                (name,),
            )
    return None


def _duplicate(offer: Offer, names: tuple[str, ...]) -> Refusal:
    return Refusal(
        "host_local_subnet",
        f"{offer.host.name} has {offer.address} on {offer.interface.name}, but {offer.because}, so "
        "no packet finds its way between them; give each host an address of its own.",
        names,
    )


def _no_common_subnet(offers: Offers, usable: Offers) -> Refusal:
    """Names the network that joins most hosts, and the hosts that lack an address in it."""
    members: dict[topology.Network, list[str]] = {}
    for name, some in usable.items():
        for network in {each.address.network for each in some if each.address}:
            members.setdefault(network, []).append(name)
    if not members:
        return Refusal(
            "no_common_subnet",
            f"No host has a usable address ({_all_addresses(offers)}); give each host an address "
            "in one network.",
            tuple(offers),
        )
    joined = {network: sorted(some, key=hca.natural) for network, some in members.items()}
    best = min(
        joined,
        key=lambda network: (
            -len(joined[network]),
            _holds_default_route(network, usable),
            int(network.network_address),
        ),
    )
    lacking = [name for name in offers if name not in joined[best]]
    described = "; ".join(f"{name} has {_addresses(offers[name])}" for name in lacking)
    return Refusal(
        "no_common_subnet",
        f"No network joins all hosts: {best} joins {', '.join(joined[best])}, but "
        f"{', '.join(lacking)} {'has' if len(lacking) == 1 else 'have'} no usable address in it "
        f"({described}); add one, or where routers join the networks set interconnect_interface "
        "on every host.",
        tuple(lacking),
    )


def _holds_default_route(network: topology.Network, usable: Offers) -> bool:
    return any(
        each.address is not None
        and each.address.network == network
        and each.host.has_default_route(each.interface)
        for some in usable.values()
        for each in some
    )


def _bare_ports(hosts: Sequence[topology.Host]) -> dict[str, tuple[str, ...]]:
    """Up ports that are fast, or carry RoCE, and are known to have no address, by host name."""
    roce = rails.unaddressed(hosts)
    return {
        host.name: tuple(
            sorted(
                {
                    *roce[host.name],
                    *(
                        each.name
                        for each in host.interfaces
                        if each.up
                        and each.kind == "physical"
                        and not each.master
                        and each.addresses == ()
                        and (each.speed_mbps or 0) >= networks.FAST
                    ),
                },
                key=hca.natural,
            )
        )
        for host in hosts
    }


def _is_global(address: topology.IP) -> bool:
    return not (address.is_loopback or address.is_link_local or address.is_unspecified)


def _is_stated(offers: Sequence[Offer]) -> bool:
    return bool(offers) and all(each.obstacle != "unstated" for each in offers)


def _addresses(offers: Sequence[Offer]) -> str:
    listed = [
        f"{each.address} on {each.interface.name}"
        for each in offers
        if each.address is not None and each.obstacle not in ("loopback", "host_local")
    ]
    return ", ".join(listed) or "no address"


def _all_addresses(offers: Offers) -> str:
    return "; ".join(f"{name}: {_addresses(some)}" for name, some in offers.items())
