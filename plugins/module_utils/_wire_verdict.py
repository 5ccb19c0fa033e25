# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The judgement of the wire: which pair of hosts fails, and why.

A pure function of the plan, of how the hosts listened and of what they saw; the controller alone judges.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _wire as wire

# Clocks that differ by more make tokens expire and timestamps of logs useless; NTP keeps them within 0.1 s.
CLOCK_SECONDS = 2.0

# The kernel sends no segment of more than half of the window that the other end first offers.
_SURE_SEGMENT = 16384

_FIREWALL, _ROUTE, _NO_ROUTE = "firewall", "route", "no_route"
_UNRESOLVED = frozenset({"FAILED", "INCOMPLETE", "NONE"})


@dataclass(frozen=True)
class Verdict:
    """Sentences: problems forbid to go on, notes do not.

    `clocks` says, by pair of source and target, how far the target's clock is ahead of the source's.
    """

    problems: tuple[str, ...]
    notes: tuple[str, ...]
    clocks: Mapping[tuple[str, str], wire.Clock]


@dataclass(frozen=True)
class _Fault:
    """Why one ordered pair fails. `text` reads on after "A to B: "; `cure` ends the sentence."""

    source: str
    target: str
    code: str
    text: str
    cure: str


def judge(
    network: str, listeners: Mapping[str, wire.Listener], probes: Mapping[str, wire.Probe]
) -> Verdict:
    """Return what is wrong with the wire.

    network: the interconnect as people call it, its CIDR; listeners, probes: by name of the host.
    """
    ill = {
        host: said
        for host, listener in listeners.items()
        if (said := _illness(host, listener, probes.get(host))) is not None
    }
    crossings = {
        (source, crossing.target): crossing
        for source, probe in probes.items()
        for crossing in probe.crossings
        # A host that is ill explains all its pairs.
        if source not in ill and crossing.target not in ill
    }
    faults = [
        fault
        for (source, target), crossing in sorted(crossings.items())
        if (fault := _fault(source, crossing, crossings.get((target, source)), listeners, network))
    ]
    misled = {(fault.target, fault.source) for fault in faults if fault.code in (_ROUTE, _NO_ROUTE)}
    # Without a way back there is no connection either: the first cause wins.
    faults = [
        fault
        for fault in faults
        if not ((fault.source, fault.target) in misled and fault.code.startswith(_FIREWALL))
    ]
    clocks = {pair: each.clock for pair, each in crossings.items() if each.clock is not None}
    return Verdict(
        problems=(
            *(ill[host] for host in sorted(ill)),
            *_sentences(faults, len(listeners)),
            *_clock_problems(clocks),
        ),
        notes=tuple(_notes(crossings, probes, listeners)),
        clocks=clocks,
    )


def _illness(host: str, listener: wire.Listener, probe: wire.Probe | None) -> str | None:
    where = f"{listener.address} on {listener.interface}"
    if listener.problem is not None:
        return (
            f"{host}: cannot listen at {where} ({listener.problem}), expected the address of the "
            f"plan; see ip address show dev {listener.interface} on {host}"
        )
    if not listener.carrier:
        return (
            f"{host}: {listener.interface} has no carrier, expected a link for {listener.address}; "
            "check its cable and the port at the other end"
        )
    if probe is None:
        return (
            f"{host}: what listened at {where} was gone before it tried the others, expected it to wait "
            f"for that; run the proof again, with more wire_listen_timeout where {host} is slow"
        )
    if probe.duplicate is not None:
        return (
            f"{host}: {where} is also claimed by the machine with the MAC address "
            f"{probe.duplicate}, expected {host} alone; give one of them another address"
        )
    return None


def _fault(
    source: str,
    crossing: wire.Crossing,
    back: wire.Crossing | None,
    listeners: Mapping[str, wire.Listener],
    network: str,
) -> _Fault | None:
    target, own, peer = crossing.target, listeners[source], listeners[crossing.target]
    failed = [each for each in crossing.attempts if each.outcome != wire.CONNECTED]
    outcomes = {each.outcome for each in failed}

    def fault(code: str, text: str, cure: str) -> _Fault:
        return _Fault(source, target, code, text, cure)

    if own.carries and crossing.route_interface not in (None, own.interface):
        return fault(
            _ROUTE,
            f"the route to {peer.address} leaves through {crossing.route_interface}, expected "
            f"{own.interface}",
            f"see ip route get {peer.address} on {source} and remove the route that wins",
        )
    foreign_mac = bool(
        crossing.neighbour_mac and peer.macs and crossing.neighbour_mac not in peer.macs
    )
    if wire.STRANGER in outcomes or (failed and foreign_mac):
        seen = f" (MAC address {crossing.neighbour_mac})" if foreign_mac else ""
        return fault(
            "duplicate",
            f"another machine answers at {peer.address}{seen}, expected {target}",
            "give one of them another address",
        )
    if wire.NETWORK_UNREACHABLE in outcomes:
        return fault(
            _NO_ROUTE,
            f"there is no route to {peer.address}, expected one through {own.interface}",
            f"see ip route get {peer.address} on {source}",
        )
    if not failed:
        return _deeper(source, crossing, own, peer)
    unresolved = crossing.neighbour_state in _UNRESOLVED
    if unresolved or (wire.HOST_UNREACHABLE in outcomes and crossing.neighbour_mac is None):
        return fault(
            "silent",
            f"nothing answers for {peer.address} behind {own.interface}, expected {target}",
            f"check that the port of {peer.interface} on {target} is up and in the same network "
            "segment",
        )
    ports = _listed([str(each.port) for each in failed])
    if outcomes == {wire.MUTE}:
        return fault(
            "mute",
            f"connections to {peer.address} open, but nobody answers on them, expected {target} to",
            f"look at the load of {target}, and for what stands between them, such as a proxy",
        )
    some = len(failed) < len(crossing.attempts)
    plural = "port" if len(failed) == 1 else "ports"
    how = "refused" if outcomes & {wire.REFUSED, wire.HOST_UNREACHABLE} else "not answered"
    works = back is not None and all(each.outcome == wire.CONNECTED for each in back.attempts)
    hints = [
        *(["other ports are open"] if some else []),
        *(["the other direction works"] if works else []),
    ]
    because = f" ({', '.join(hints)})" if hints else ""
    return fault(
        f"{_FIREWALL} {how} {ports if some else ''} {works}",
        f"TCP to {peer.address} {plural} {ports} is {how}, expected a connection{because}",
        f"most likely a firewall: allow TCP from {network} on {target}",
    )


def _deeper(
    source: str, crossing: wire.Crossing, own: wire.Listener, peer: wire.Listener
) -> _Fault | None:
    """What is wrong where all connections come about: the size of packets, the source address."""
    if crossing.lost:
        passed = f"up to {crossing.packet}" if crossing.packet else f"below {wire.MTU_STEPS[0]}"
        cure = f"{crossing.packet}" if crossing.packet else "what the path carries"
        return _Fault(
            source,
            crossing.target,
            f"mtu {crossing.packet}",
            f"packets of {crossing.expected_packet} bytes to {peer.address} are lost and those "
            f"{passed} pass, expected the MTU of {own.interface} to pass",
            "raise the MTU of the switch ports between them, or set that of the interfaces to "
            f"{cure}",
        )
    if own.carries and crossing.route_source not in (None, own.address):
        return _Fault(
            source,
            crossing.target,
            "source",
            f"connections to {peer.address} leave with the source {crossing.route_source}, "
            f"expected {own.address}",
            f"make {own.address} the first address of {own.interface} on {source}",
        )
    return None


def _sentences(faults: Sequence[_Fault], hosts: int) -> list[str]:
    """One sentence a fault, where several hosts fail alike towards one target a common one."""
    groups: dict[tuple[str, str], list[_Fault]] = {}
    for fault in faults:
        groups.setdefault((fault.code, fault.target), []).append(fault)
    sentences = []
    for (_unused, target), group in groups.items():
        first = group[0]
        sources = [fault.source for fault in group]
        who = f"all {hosts - 1} others" if len(sources) == hosts - 1 > 2 else _listed(sources)
        sentences.append(f"{who} to {target}: {first.text}; {first.cure}")
    return sentences


def _clock_problems(clocks: Mapping[tuple[str, str], wire.Clock]) -> Iterable[str]:
    """One sentence for each host whose clock is not that of the host with which most others agree."""
    sources = sorted({source for source, _unused in clocks})
    if not sources:
        return
    astray = {
        host: sum(_wrong(clock) for (source, _unused), clock in clocks.items() if source == host)
        for host in sources
    }
    reference = min(sources, key=lambda host: astray[host])
    for (source, host), clock in sorted(clocks.items()):
        if source == reference and _wrong(clock):
            side = "ahead of" if clock.ahead > 0 else "behind"
            yield (
                f"{host}: its clock is {abs(clock.ahead):.1f} s {side} {reference}'s, expected within "
                f"{CLOCK_SECONDS:g} s; set it with NTP (timedatectl set-ntp true)"
            )


def _wrong(clock: wire.Clock) -> bool:
    """Whether it is too far off for certain."""
    return abs(clock.ahead) - clock.error > CLOCK_SECONDS


def _notes(
    crossings: Mapping[tuple[str, str], wire.Crossing],
    probes: Mapping[str, wire.Probe],
    listeners: Mapping[str, wire.Listener],
) -> Iterable[str]:
    for (source, target), crossing in sorted(crossings.items()):
        expected, packet = crossing.expected_packet, crossing.packet
        if not crossing.lost and expected and packet and packet < min(expected, _SURE_SEGMENT):
            yield (
                f"{source} to {target}: the largest packet to {listeners[target].address} is "
                f"{packet} bytes, expected {expected}; a router or tunnel lies between them"
            )
    reasons: dict[tuple[str, str], list[str]] = {}
    for host, probe in sorted(probes.items()):
        for check, reason in sorted(probe.absent.items()):
            reasons.setdefault((check, reason), []).append(host)
    for (check, reason), hosts in reasons.items():
        yield f"{_listed(hosts)}: {check} could not be checked: {reason}"


def _listed(names: Sequence[str], most: int = 4) -> str:
    """Return names as prose, the first few of many."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


# Bridges of Docker and of hypervisors are down while nobody uses them.
_SOFT = re.compile(r"docker|br-|veth|virbr|lxcbr")


def idle_links(plan: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each host with links that are down: one of them may be the wire that was meant.

    plan: of schema samewire.plan/1; what was rejected there says why (_networks.py).
    """
    said = []
    for host, own in sorted((plan.get("hosts") or {}).items()):
        idle = sorted(
            {
                each["interface"]
                for each in own.get("rejected") or ()
                if "its link is down" in each["because"]
                and each.get("interface")
                and not _SOFT.match(each["interface"])
            }
        )
        if idle:
            said.append(
                f"{host}: {_listed(idle)} {'is' if len(idle) == 1 else 'are'} down and could not be planned "
                f"with; if the cable of the cluster is there, bring it up first: ip link set {idle[0]} up"
            )
    return said
