# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The proof of the wire as values, and as the plain data that crosses it.

Each host listens on its interconnect address (`Listener`), then opens connections to all others
(`Crossing`, one for each ordered pair). `_wire_verdict` judges what they saw.
"""

from __future__ import annotations

from collections.abc import Mapping
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


def parse_listener(plain: Mapping[str, Any]) -> Listener:
    """Return the listener that `wire_proof` reported."""
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
    """Return the probe that `wire_proof` reported."""
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
