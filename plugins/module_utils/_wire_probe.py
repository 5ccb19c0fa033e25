# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Opens connections over the interconnect to all other hosts and looks at how they go.

TCP segments carry the don't-fragment bit (tcp(7), ip_no_pmtu_disc), so a segment of full size
proves the path MTU also where UDP is not let through.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import json
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Callable

from ansible_collections.samewire.vllm.plugins.module_utils import _wire as wire
from ansible_collections.samewire.vllm.plugins.module_utils import _wire_talk as talk

PACKET_SECONDS = 0.8
SECOND_PACKET_SECONDS = 2.0
ARP_SECONDS = 0.3
AT_ONCE = 384  # connections, so that the usual limit of 1024 open files holds

_ARP = 0x0806
_ARP_FORM = struct.Struct("!HHBBH6s4s6s4s")
_ETHERNET = "1"  # ARPHRD_ETHER of linux/if_arp.h
_TIMESTAMPS = 1  # TCPI_OPT_TIMESTAMPS of linux/tcp.h, in byte 5 of tcp_info

Run = Callable[[Sequence[str], str], "tuple[int, str, str]"]
"""Takes an argument list and standard input, returns exit code, stdout and stderr."""

_OUTCOMES = {
    errno.ECONNREFUSED: wire.REFUSED,
    errno.ECONNRESET: wire.REFUSED,
    errno.ETIMEDOUT: wire.TIMEOUT,
    errno.EHOSTUNREACH: wire.HOST_UNREACHABLE,
    errno.ENETUNREACH: wire.NETWORK_UNREACHABLE,
}


def obey(order: Mapping[str, Any], run: Run) -> wire.Probe:
    """Do what the asking host orders: `probe` as the host of that name."""
    targets = {name: wire.parse_listener(each) for name, each in order["listeners"].items()}
    return probe(targets.pop(order["host"]), targets, run)


def probe(own: wire.Listener, targets: Mapping[str, wire.Listener], run: Run) -> wire.Probe:
    """Open all connections from this host to the others, and look at how they go.

    Takes some seconds at most, the sum of those of a visit and of a second one, as long as AT_ONCE
    suffices for all ports of all targets.
    """
    absent: dict[str, str] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        claimed = pool.submit(_duplicate, own, absent)
        visits = {
            name: [pool.submit(_visit, own, target, port) for port in target.ports]
            for name, target in targets.items()
        }
        seen = {name: [each.result() for each in some] for name, some in visits.items()}
        # The second try has more time, so that a busy host is not taken for a small MTU.
        again = {
            name: [
                pool.submit(_visit, own, target, target.ports[0], size, SECOND_PACKET_SECONDS)
                for size in _sizes(seen[name][0])
            ]
            for name, target in targets.items()
            if seen[name] and seen[name][0].lost
        }
        sized = {name: [each.result() for each in some] for name, some in again.items()}
        duplicate = claimed.result()
    routes, neighbours = _kernel(run, own.interface, targets, absent)
    return wire.Probe(
        crossings=tuple(
            _crossing(
                name,
                [each for each in (own.mtu, target.mtu) if each],
                seen[name],
                sized.get(name, ()),
                routes.get(target.address, {}),
                neighbours.get(target.address, {}),
            )
            for name, target in targets.items()
        ),
        duplicate=duplicate,
        absent=absent,
    )


@dataclass(frozen=True)
class _Visit:
    """One connection; `packet` is the size of the IP packet that was sent, in bytes."""

    attempt: wire.Attempt
    packet: int | None = None
    lost: bool = False
    clock: wire.Clock | None = None


def _crossing(
    target: str,
    mtus: Sequence[int],
    visits: Sequence[_Visit],
    sized: Sequence[_Visit],
    route: Mapping[str, Any],
    neighbour: Mapping[str, Any],
) -> wire.Crossing:
    """What the visits to all ports of a target, and those with packets of all sizes, come to."""
    first = visits[0] if visits else None
    packet, lost = (None, False) if first is None else (first.packet, first.lost)
    if sized:
        arrived = [each.packet for each in sized if not each.lost and each.packet is not None]
        packet, lost = max(arrived, default=None), sized[0].lost or sized[0].packet is None
    tried = first is not None and first.attempt.outcome == wire.CONNECTED
    clocks = [each.clock for each in visits if each.clock is not None]
    return wire.Crossing(
        target=target,
        attempts=tuple(each.attempt for each in visits),
        route_interface=route.get("dev"),
        route_source=route.get("prefsrc"),
        neighbour_mac=neighbour.get("lladdr"),
        neighbour_state=_state(neighbour),
        expected_packet=min(mtus, default=None) if tried else None,
        packet=packet,
        lost=lost,
        clock=min(clocks, key=lambda clock: clock.error, default=None),
    )


def _sizes(sent: _Visit) -> Sequence[int | None]:
    """Sizes of packets to try where the kernel's choice was lost: that one again, and all below."""
    return [None, *(each for each in wire.MTU_STEPS if each < (sent.packet or 0))]


def _visit(
    own: wire.Listener,
    target: wire.Listener,
    port: wire.Port,
    size: int | None = None,
    seconds: float = PACKET_SECONDS,
) -> _Visit:
    """Connect, ask who is there, and send a packet of that size, by default as large as may be."""
    try:
        client = talk.connected(own.address, target.address, port.number, size)
    except OSError as error:
        return _Visit(wire.Attempt(port.number, _outcome(error)))
    with client:
        arrived = wire.Attempt(port.number, wire.CONNECTED)
        if port.live:
            return _Visit(arrived)
        segment = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
        asked = time.monotonic()
        try:
            client.sendall(f"hello {segment}\n".encode())
            answer = talk.line(client, talk.REPLY_SECONDS)
        except OSError:
            return _Visit(replace(arrived, outcome=wire.MUTE))
        except (EOFError, ValueError):
            return _Visit(replace(arrived, outcome=wire.STRANGER))
        now, took = time.time(), time.monotonic() - asked
        nonce, _unused, clock = answer.partition(" ")
        if nonce != target.nonce:
            return _Visit(replace(arrived, outcome=wire.STRANGER))
        try:
            client.sendall(bytes(segment))
            lost = talk.line(client, seconds) != "ok"
        except (OSError, EOFError, ValueError):
            lost = True
        return _Visit(arrived, _packet(client, target), lost=lost, clock=_clock(clock, now, took))


def _clock(told: str, now: float, took: float) -> wire.Clock | None:
    """Compare the time that another host told with the own, taken when its answer was here.

    It was told at some moment of the round trip, most likely in its middle (as RFC 5905 assumes).
    """
    try:
        return wire.Clock(ahead=float(told) - (now - took / 2), error=took / 2)
    except ValueError:
        return None


def _packet(client: socket.socket, target: wire.Listener) -> int:
    """The size of a full IP packet of a connection, in bytes, as the kernel sees it now."""
    size = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG) + talk.headers(target.address)
    if client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8)[5] & _TIMESTAMPS:
        size += 12
    return size


def _outcome(error: OSError) -> str:
    if error.errno is None:
        return wire.TIMEOUT
    return _OUTCOMES.get(error.errno, errno.errorcode.get(error.errno, "error"))


def _duplicate(own: wire.Listener, absent: dict[str, str]) -> str | None:
    """Return the MAC address of another machine that claims the own address.

    IPv4 is asked for as RFC 5227 says, which no neighbour table remembers; for IPv6 the kernel
    does it by itself and refuses the address.
    """
    if ":" in own.address:
        return None
    mac = sysfs(own.interface, "address")
    if sysfs(own.interface, "type") != _ETHERNET or not mac or not own.carries:
        absent["duplicate addresses"] = f"{own.interface} is not Ethernet"
        return None
    try:
        asking = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ARP))
    except PermissionError:
        absent["duplicate addresses"] = "it needs CAP_NET_RAW; connect as root or with become"
        return None
    address = ipaddress.IPv4Address(own.address).packed
    hardware = bytes.fromhex(mac.replace(":", ""))
    request = b"\xff" * 6 + hardware + struct.pack("!H", _ARP)
    request += _ARP_FORM.pack(1, 0x0800, 6, 4, 1, hardware, bytes(4), bytes(6), address)
    with asking, contextlib.suppress(OSError):
        asking.bind((own.interface, _ARP))
        deadline = time.monotonic() + ARP_SECONDS
        asking.send(request)
        while (left := deadline - time.monotonic()) > 0:
            asking.settimeout(left)
            claimed = _claimed(asking.recv(128), address)
            # Other ports of the own host may answer for it, too (ip-sysctl: arp_ignore).
            if claimed is not None and claimed not in own.macs:
                return claimed
    return None


def _claimed(frame: bytes, address: bytes) -> str | None:
    """The MAC address whose owner says in an ARP frame that it has the address."""
    if len(frame) < 14 + _ARP_FORM.size:
        return None
    sender, claimed = _ARP_FORM.unpack_from(frame, 14)[5:7]
    return sender.hex(":") if claimed == address else None


def _kernel(
    run: Run, interface: str, targets: Mapping[str, wire.Listener], absent: dict[str, str]
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """The kernel's routes and neighbours by destination; one without a route, or not met, has none."""
    asked = [f"route get {target.address}" for target in targets.values()]
    asked.append(f"neighbour show dev {interface}")
    lines = "".join(f"{line}\n" for line in asked)
    code, out, err = run(["ip", "-force", "-json", "-batch", "-"], lines)
    if code == 127:
        absent["routes"] = absent["neighbours"] = err
    routes: dict[str, dict[str, Any]] = {}
    neighbours: dict[str, dict[str, Any]] = {}
    for line in out.splitlines():
        # Each command prints a list of its own.
        with contextlib.suppress(ValueError):
            for row in json.loads(line):
                if "dst" in row:
                    # Only a neighbour has a state.
                    (neighbours if "state" in row else routes)[str(row["dst"])] = row
    return routes, neighbours


def _state(neighbour: Mapping[str, Any]) -> str | None:
    states = neighbour.get("state") or [None]
    return None if states[0] is None else str(states[0])


def sysfs(interface: str, attribute: str) -> str | None:
    """What the kernel says of an interface, None where it says nothing."""
    try:
        with open(f"/sys/class/net/{interface}/{attribute}", encoding="ascii") as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError):
        return None
