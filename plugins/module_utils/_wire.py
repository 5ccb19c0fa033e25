# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The proof of the wire as values, and its judgement: which pair of hosts fails, and why.

Each host listens on its interconnect address (`Listener`), then opens connections to all others
(`Crossing`, one for each ordered pair). The judgement is a pure function of the plan and of both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CONNECTED = "connected"
REFUSED = "refused"
TIMEOUT = "timeout"
HOST_UNREACHABLE = "host_unreachable"
NETWORK_UNREACHABLE = "network_unreachable"
STRANGER = "stranger"
"""Something answered that is not the host of the plan."""
MUTE = "mute"
"""The connection came about, and nobody said anything."""

# Sizes at which links and tunnels usually end, in bytes: Ethernet, its tunnels, IPoIB, jumbo frames.
MTU_STEPS = (1280, 1400, 1420, 1450, 1492, 1500, 2044, 4092, 8500, 8900, 9000)

# Clocks that differ by more make tokens expire and timestamps of logs useless; NTP keeps them within 0.1 s.
CLOCK_SECONDS = 2.0

# The kernel sends no segment of more than half of the window that the other end first offers.
_SURE_SEGMENT = 16384

_FIREWALL, _ROUTE, _NO_ROUTE = "firewall", "route", "no_route"
_UNRESOLVED = frozenset({"FAILED", "INCOMPLETE", "NONE"})


@dataclass(frozen=True)
class Port:
    """A TCP port to prove. On a live one another program listens already, such as our own Ray."""

    number: int
    live: bool = False


@dataclass(frozen=True)
class Listener:
    """What a host said when it began to listen; MTU in bytes.

    `problem` says why it cannot listen. `carries` is False where the address stands on a loopback
    or dummy interface, from which no packet leaves. `macs` are those of all interfaces of the host.
    """

    address: str
    interface: str
    nonce: str
    ports: tuple[Port, ...] = ()
    mtu: int | None = None
    carrier: bool = True
    carries: bool = True
    macs: frozenset[str] = frozenset()
    problem: str | None = None


@dataclass(frozen=True)
class Attempt:
    """One connection: the port and how it ended, CONNECTED or another of the outcomes above."""

    port: int
    outcome: str


@dataclass(frozen=True)
class Clock:
    """How far another host's clock is ahead of the own, in seconds; the truth lies within `error` of it."""

    ahead: float
    error: float

    @property
    def wrong(self) -> bool:
        """Whether it is too far off for certain."""
        return abs(self.ahead) - self.error > CLOCK_SECONDS


@dataclass(frozen=True)
class Crossing:
    """What one host saw towards another.

    The route is the kernel's choice for a socket that is not bound, as most of Ray's; None where it
    could not be read. `packet` is the largest IP packet that arrived, in bytes, None for none;
    `expected_packet` is the smaller MTU of both ends, None where no packet was tried. `lost` says
    that a packet as large as the kernel's choice did not arrive, and that the kernel was not told.
    `clock` is None where nobody told the time.
    """

    target: str
    attempts: tuple[Attempt, ...]
    route_interface: str | None = None
    route_source: str | None = None
    neighbour_mac: str | None = None
    neighbour_state: str | None = None
    expected_packet: int | None = None
    packet: int | None = None
    lost: bool = False
    clock: Clock | None = None


@dataclass(frozen=True)
class Probe:
    """All that one host saw; `duplicate` is the MAC that also claims its address.

    `absent` holds, by check, the reason why it could not be made.
    """

    crossings: tuple[Crossing, ...]
    duplicate: str | None
    absent: Mapping[str, str]


@dataclass(frozen=True)
class Verdict:
    """Sentences: problems forbid to go on, notes do not.

    `clocks` says, by pair of source and target, how far the target's clock is ahead of the source's.
    """

    problems: tuple[str, ...]
    notes: tuple[str, ...]
    clocks: Mapping[tuple[str, str], Clock]


@dataclass(frozen=True)
class _Fault:
    """Why one ordered pair fails. `text` reads on after "A to B: "; `cure` ends the sentence."""

    source: str
    target: str
    code: str
    text: str
    cure: str


def parse_listener(plain: Mapping[str, Any]) -> Listener:
    """Return the listener that `wire_listen` reported."""
    return Listener(
        address=plain["address"],
        interface=plain["interface"],
        nonce=plain["nonce"],
        ports=tuple(Port(int(each["port"]), bool(each["live"])) for each in plain["ports"]),
        mtu=plain["mtu"],
        carrier=plain["carrier"],
        carries=plain["carries"],
        macs=frozenset(plain["macs"]),
        problem=plain["problem"],
    )


def render_listener(listener: Listener) -> dict[str, Any]:
    """Return the plain form of a listener, the inverse of parse_listener."""
    return {
        "address": listener.address,
        "interface": listener.interface,
        "nonce": listener.nonce,
        "ports": [{"port": each.number, "live": each.live} for each in listener.ports],
        "mtu": listener.mtu,
        "carrier": listener.carrier,
        "carries": listener.carries,
        "macs": sorted(listener.macs),
        "problem": listener.problem,
    }


def parse_probe(plain: Mapping[str, Any]) -> Probe:
    """Return the probe that `wire_probe` reported."""
    return Probe(
        crossings=tuple(
            Crossing(
                **{
                    **each,
                    "attempts": tuple(Attempt(*pair) for pair in each["attempts"]),
                    "clock": None if each["clock"] is None else Clock(*each["clock"]),
                }
            )
            for each in plain["crossings"]
        ),
        duplicate=plain["duplicate"],
        absent=plain["absent"],
    )


def render_probe(probe: Probe) -> dict[str, Any]:
    """Return the plain form of a probe, the inverse of parse_probe."""
    return {
        "crossings": [
            {
                **vars(each),
                "attempts": [[attempt.port, attempt.outcome] for attempt in each.attempts],
                "clock": None if each.clock is None else [each.clock.ahead, each.clock.error],
            }
            for each in probe.crossings
        ],
        "duplicate": probe.duplicate,
        "absent": dict(probe.absent),
    }


def judge(network: str, listeners: Mapping[str, Listener], probes: Mapping[str, Probe]) -> Verdict:
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


def _illness(host: str, listener: Listener, probe: Probe | None) -> str | None:
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
    crossing: Crossing,
    back: Crossing | None,
    listeners: Mapping[str, Listener],
    network: str,
) -> _Fault | None:
    target, own, peer = crossing.target, listeners[source], listeners[crossing.target]
    failed = [each for each in crossing.attempts if each.outcome != CONNECTED]
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
    if STRANGER in outcomes or (failed and foreign_mac):
        seen = f" (MAC address {crossing.neighbour_mac})" if foreign_mac else ""
        return fault(
            "duplicate",
            f"another machine answers at {peer.address}{seen}, expected {target}",
            "give one of them another address",
        )
    if NETWORK_UNREACHABLE in outcomes:
        return fault(
            _NO_ROUTE,
            f"there is no route to {peer.address}, expected one through {own.interface}",
            f"see ip route get {peer.address} on {source}",
        )
    if not failed:
        return _deeper(source, crossing, own, peer)
    unresolved = crossing.neighbour_state in _UNRESOLVED
    if unresolved or (HOST_UNREACHABLE in outcomes and crossing.neighbour_mac is None):
        return fault(
            "silent",
            f"nothing answers for {peer.address} behind {own.interface}, expected {target}",
            f"check that the port of {peer.interface} on {target} is up and in the same network "
            "segment",
        )
    ports = _listed([str(each.port) for each in failed])
    if outcomes == {MUTE}:
        return fault(
            "mute",
            f"connections to {peer.address} open, but nobody answers on them, expected {target} to",
            f"look at the load of {target}, and for what stands between them, such as a proxy",
        )
    some = len(failed) < len(crossing.attempts)
    plural = "port" if len(failed) == 1 else "ports"
    how = "refused" if outcomes & {REFUSED, HOST_UNREACHABLE} else "not answered"
    works = back is not None and all(each.outcome == CONNECTED for each in back.attempts)
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


def _deeper(source: str, crossing: Crossing, own: Listener, peer: Listener) -> _Fault | None:
    """What is wrong where all connections come about: the size of packets, the source address."""
    if crossing.lost:
        passed = f"up to {crossing.packet}" if crossing.packet else f"below {MTU_STEPS[0]}"
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


def _clock_problems(clocks: Mapping[tuple[str, str], Clock]) -> Iterable[str]:
    """One sentence for each host whose clock is not that of the host with which most others agree."""
    sources = sorted({source for source, _unused in clocks})
    if not sources:
        return
    astray = {
        host: sum(clock.wrong for (source, _unused), clock in clocks.items() if source == host)
        for host in sources
    }
    reference = min(sources, key=lambda host: astray[host])
    for (source, host), clock in sorted(clocks.items()):
        if source == reference and clock.wrong:
            side = "ahead of" if clock.ahead > 0 else "behind"
            yield (
                f"{host}: its clock is {abs(clock.ahead):.1f} s {side} {reference}'s, expected within "
                f"{CLOCK_SECONDS:g} s; set it with NTP (timedatectl set-ntp true)"
            )


def _notes(
    crossings: Mapping[tuple[str, str], Crossing],
    probes: Mapping[str, Probe],
    listeners: Mapping[str, Listener],
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
