# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Listens on the interconnect and opens connections over it; needs no privilege, keeps nothing.

The two ends speak lines of ASCII. A client says `hello SIZE` and gets the listener's nonce, which
tells the planned host from another one with its address, and the time of its clock; then it sends
SIZE bytes in one segment and gets `ok`. A host that is through says `done NAME`; the listener ends
with the last of them, or when its own host asks for it, or when its time is over.

One host has all listeners do the same to all others, so that none of them must be asked through
Ansible: `probe SIZE DIGEST` and SIZE bytes of JSON, answered by `ok`, then by `probed SIZE DIGEST`
and what was seen, which the asking host ends with `heard`. The digest is an HMAC under a key that
only the controller hands out and that never crosses the interconnect.

TCP segments carry the don't-fragment bit (tcp(7), ip_no_pmtu_disc), so a segment of full size
proves the path MTU also where UDP is not let through.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hmac
import ipaddress
import json
import os
import secrets
import socket
import struct
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Callable

from ansible_collections.samewire.vllm.plugins.module_utils import _wire as wire

CONNECT_SECONDS = 2.0  # long enough for a SYN that is lost and sent again after 1 s
REPLY_SECONDS = 4.0  # a loaded host may be slow to say who it is
PACKET_SECONDS = 0.8
SECOND_PACKET_SECONDS = 2.0
ARP_SECONDS = 0.3
ASK_SECONDS = 15.0  # more than all of the above together
AT_ONCE = 128  # peers, so that the usual limit of 1024 open files holds
_LINE = 256
_LONGEST = 1 << 24  # bytes of JSON, enough for more hosts than have fitted into one segment

_ARP = 0x0806
_ARP_FORM = struct.Struct("!HHBBH6s4s6s4s")
_ETHERNET = "1"  # ARPHRD_ETHER of linux/if_arp.h
_UP, _LOOPBACK, _POINTOPOINT, _NOARP = 0x1, 0x8, 0x10, 0x80  # linux/if.h
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


def listen(
    address: str, interface: str, ports: Iterable[int], ranges: Iterable[str]
) -> tuple[wire.Listener, list[socket.socket]]:
    """Bind the ports, one free port of each range ("FIRST-LAST"), and one of the kernel's choice.

    Never raises for the network: what is wrong is the listener's `problem`.
    """
    problem = None
    opened: list[tuple[wire.Port, socket.socket | None]] = []
    try:
        opened = [_bound(address, number) for number in (0, *ports)]
        opened += [_first_free(address, text) for text in ranges]
    except OSError as error:
        problem = os.strerror(error.errno) if error.errno else str(error)
    flags = int(_sysfs(interface, "flags") or "0", 16)
    mtu = _sysfs(interface, "mtu")
    listener = wire.Listener(
        address=address,
        interface=interface,
        nonce=secrets.token_hex(8),
        ports=tuple(port for port, _unused in opened),
        mtu=int(mtu) if mtu else None,
        carrier=bool(flags & _UP) and _sysfs(interface, "carrier") != "0",
        carries=not flags & _LOOPBACK and (not flags & _NOARP or bool(flags & _POINTOPOINT)),
        macs=_own_macs(),
        problem=problem,
    )
    return listener, [each for _unused, each in opened if each is not None]


def serve(
    listener: wire.Listener,
    key: str,
    sockets: Iterable[socket.socket],
    peers: Iterable[str],
    seconds: float,
    run: Run,
) -> None:
    """Answer on the sockets until all peers are through, or the time is over.

    A peer of the own name is through when somebody heard what this host saw of the others.
    """
    asyncio.run(_serve(listener, key, list(sockets), set(peers), seconds, run))


def end(listener: wire.Listener) -> None:
    """Ask the listener of this host to end; one that ended already is as good."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(CONNECT_SECONDS)
        client.connect(_bell(listener.nonce))
        client.sendall(b"end\n")
        client.recv(1)


def ask(
    host: str, listeners: Mapping[str, wire.Listener], keys: Mapping[str, str]
) -> dict[str, wire.Probe]:
    """Have the hosts of the keys try all others, and return what those saw that could be asked.

    The own listener is asked on the host itself, which no firewall hinders, the others over the
    interconnect. Takes what `probe` takes, and some seconds more where somebody does not answer.
    """
    return asyncio.run(_ask_all(host, listeners, keys))


def probe(
    host: str, own: wire.Listener, targets: Mapping[str, wire.Listener], run: Run
) -> wire.Probe:
    """Open all connections from this host to the others, and look at how they go.

    Takes some seconds at most, the sum of those above, whatever the number of targets up to AT_ONCE.
    """
    absent: dict[str, str] = {}
    crossings, duplicate = asyncio.run(_cross(host, own, targets, absent))
    routes, neighbours = _kernel(run, own.interface, targets, absent)
    return wire.Probe(
        crossings=tuple(
            replace(
                each,
                route_interface=routes.get(targets[each.target].address, {}).get("dev"),
                route_source=routes.get(targets[each.target].address, {}).get("prefsrc"),
                neighbour_mac=neighbours.get(targets[each.target].address, {}).get("lladdr"),
                neighbour_state=_state(neighbours.get(targets[each.target].address, {})),
            )
            for each in crossings
        ),
        duplicate=duplicate,
        absent=absent,
    )


def _bell(nonce: str) -> str:
    """An abstract socket, which no firewall of the host filters and which leaves no file."""
    return f"\0samewire-wire-{nonce}"


def _bound(address: str, number: int) -> tuple[wire.Port, socket.socket | None]:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        # Connections of an earlier proof may still be in TIME_WAIT.
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((address, number))
        opened.listen(512)
    except OSError as error:
        opened.close()
        if error.errno == errno.EADDRINUSE and number:
            return wire.Port(number, live=True), None
        raise
    return wire.Port(opened.getsockname()[1]), opened


def _first_free(address: str, text: str) -> tuple[wire.Port, socket.socket | None]:
    first, _unused, last = text.partition("-")
    port = wire.Port(int(first), live=True), None
    for number in range(int(first), int(last) + 1):
        found = _bound(address, number)
        if found[1] is not None:
            return found
    return port


async def _serve(
    listener: wire.Listener,
    key: str,
    sockets: list[socket.socket],
    awaited: set[str],
    seconds: float,
    run: Run,
) -> None:
    over = asyncio.Event()
    tried: asyncio.Future[tuple[str, wire.Probe]] | None = None

    async def answer(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, own: bool = False
    ) -> None:
        nonlocal tried
        # A client may vanish, or be no client of ours.
        with contextlib.suppress(OSError, ValueError, EOFError, asyncio.TimeoutError):
            line = await asyncio.wait_for(reader.readline(), seconds)
            verb, _unused, argument = line.decode("ascii").strip().partition(" ")
            if verb == "hello":
                writer.write(f"{listener.nonce} {time.time():.6f}\n".encode())
                size = min(int(argument), 65535)
                await asyncio.wait_for(reader.readexactly(size), seconds)
                writer.write(b"ok\n")
            elif verb == "done":
                through(argument)
                writer.write(b"ok\n")
            elif verb == "probe":
                order = await asyncio.wait_for(_unsealed(key, "probe", line, reader), seconds)
                writer.write(b"ok\n")
                # Who asks again, since the answer was lost, gets the same: the others may have left.
                tried = tried or asyncio.ensure_future(asyncio.to_thread(_obey, order, run))
                host, found = await asyncio.shield(tried)
                writer.write(_sealed(key, "probed", wire.render_probe(found)))
                if await asyncio.wait_for(reader.readline(), seconds) == b"heard\n":
                    through(host)
            elif verb == "end" and own:
                leave()
            await writer.drain()
            # The client closes first, so that TIME_WAIT is not on the port that Ray will bind.
            await asyncio.wait_for(reader.read(), 1)
        writer.close()

    def through(host: str) -> None:
        awaited.discard(host)
        if not awaited:
            leave()

    def leave() -> None:
        for server in servers:
            server.close()
        over.set()

    servers = [await asyncio.start_server(answer, sock=each) for each in sockets]
    servers.append(
        await asyncio.start_unix_server(partial(answer, own=True), _bell(listener.nonce))
    )
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(over.wait(), seconds)
    leave()
    # Answers that are on their way.
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=1)


def _obey(order: Mapping[str, Any], run: Run) -> tuple[str, wire.Probe]:
    host = order["host"]
    targets = {name: wire.parse_listener(each) for name, each in order["listeners"].items()}
    return host, probe(host, targets.pop(host), targets, run)


async def _ask_all(
    host: str, listeners: Mapping[str, wire.Listener], keys: Mapping[str, str]
) -> dict[str, wire.Probe]:
    gate = asyncio.Semaphore(AT_ONCE)
    plain = {name: wire.render_listener(each) for name, each in listeners.items()}

    async def asked(name: str, key: str) -> wire.Probe | None:
        # Whom it cannot ask is asked on the host itself, and says there what is wrong.
        with contextlib.suppress(asyncio.TimeoutError, OSError, EOFError, ValueError):
            async with gate:
                own = None if name == host else listeners[host].address
                return await _asked(own, name, listeners[name], key, plain)
        return None

    # A host that cannot listen has nobody to ask.
    names = [name for name in keys if listeners[name].problem is None]
    found = await asyncio.gather(*(asked(name, keys[name]) for name in names))
    return {name: each for name, each in zip(names, found) if each is not None}


async def _asked(
    source: str | None, name: str, target: wire.Listener, key: str, listeners: Mapping[str, Any]
) -> wire.Probe:
    if source is None:
        reader, writer = await asyncio.open_unix_connection(_bell(target.nonce))
    else:
        # Small packets pass where full ones are lost.
        port, size = target.ports[0].number, wire.MTU_STEPS[0]
        client = await _connected(source, target.address, port, size)
        reader, writer = await asyncio.open_connection(sock=client)
    try:
        writer.write(_sealed(key, "probe", {"host": name, "listeners": listeners}))
        if await asyncio.wait_for(reader.readline(), REPLY_SECONDS) != b"ok\n":
            raise ValueError(f"{target.address} does not take orders")
        line = await asyncio.wait_for(reader.readline(), ASK_SECONDS)
        found = await asyncio.wait_for(_unsealed(key, "probed", line, reader), REPLY_SECONDS)
        writer.write(b"heard\n")
        await writer.drain()
        return wire.parse_probe(found)
    finally:
        writer.close()


def _sealed(key: str, verb: str, content: Mapping[str, Any]) -> bytes:
    """A line and JSON that only who has the key can have written."""
    payload = json.dumps(content).encode()
    return f"{verb} {len(payload)} {_digest(key, verb, payload)}\n".encode() + payload


async def _unsealed(key: str, verb: str, line: bytes, reader: asyncio.StreamReader) -> Any:
    """The inverse of _sealed, for a line that was read already; ValueError where it is not so."""
    said, size, digest = line.decode("ascii").split()
    payload = await reader.readexactly(min(int(size), _LONGEST))
    if said != verb or not hmac.compare_digest(digest, _digest(key, verb, payload)):
        raise ValueError(f"not sealed with the key of the {verb}")
    return json.loads(payload)


def _digest(key: str, verb: str, payload: bytes) -> str:
    return hmac.new(key.encode(), verb.encode() + payload, "sha256").hexdigest()


async def _cross(
    host: str, own: wire.Listener, targets: Mapping[str, wire.Listener], absent: dict[str, str]
) -> tuple[list[wire.Crossing], str | None]:
    gate = asyncio.Semaphore(AT_ONCE)
    asked = asyncio.ensure_future(_duplicate(own, absent))
    crossings = await asyncio.gather(
        *(_crossing(host, own, name, target, gate) for name, target in targets.items())
    )
    return crossings, await asked


async def _crossing(
    host: str, own: wire.Listener, name: str, target: wire.Listener, gate: asyncio.Semaphore
) -> wire.Crossing:
    async with gate:
        sizes = [each for each in (own.mtu, target.mtu) if each]
        results = await asyncio.gather(*(_visit(own, target, port) for port in target.ports))
        attempts = tuple(result.attempt for result in results)
        first = results[0] if results else None
        crossing = wire.Crossing(name, attempts)
        if first is not None and first.attempt.outcome == wire.CONNECTED:
            packet, lost = first.packet, first.lost
            if lost:
                packet, lost = await _largest(own, target, packet or 0)
            crossing = replace(
                crossing, expected_packet=min(sizes, default=None), packet=packet, lost=lost
            )
            await _say_done(host, own, target)
        clocks = [result.clock for result in results if result.clock is not None]
        return replace(crossing, clock=min(clocks, key=lambda clock: clock.error, default=None))


async def _largest(own: wire.Listener, target: wire.Listener, sent: int) -> tuple[int | None, bool]:
    """Return the largest packet that arrives, and whether the one that was sent is lost again.

    The second try has more time, so that a busy host is not taken for a small MTU.
    """
    sizes = [None, *(each for each in wire.MTU_STEPS if each < sent)]
    tried = await asyncio.gather(
        *(_visit(own, target, target.ports[0], size, SECOND_PACKET_SECONDS) for size in sizes)
    )
    arrived = [each.packet for each in tried if not each.lost and each.packet is not None]
    return max(arrived, default=None), tried[0].lost or tried[0].packet is None


@dataclass(frozen=True)
class _Visit:
    """One connection; `packet` is the size of the IP packet that was sent, in bytes."""

    attempt: wire.Attempt
    packet: int | None = None
    lost: bool = False
    clock: wire.Clock | None = None


async def _visit(
    own: wire.Listener,
    target: wire.Listener,
    port: wire.Port,
    size: int | None = None,
    seconds: float = PACKET_SECONDS,
) -> _Visit:
    """Connect, ask who is there, and send a packet of that size, by default as large as may be."""
    try:
        client = await _connected(own.address, target.address, port.number, size)
    except (asyncio.TimeoutError, OSError) as error:
        return _Visit(wire.Attempt(port.number, _outcome(error)))
    with client:
        arrived = wire.Attempt(port.number, wire.CONNECTED)
        if port.live:
            return _Visit(arrived)
        loop = asyncio.get_running_loop()
        segment = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
        asked = time.monotonic()
        try:
            await loop.sock_sendall(client, f"hello {segment}\n".encode())
            answer = await asyncio.wait_for(loop.sock_recv(client, _LINE), REPLY_SECONDS)
        except (asyncio.TimeoutError, OSError):
            return _Visit(replace(arrived, outcome=wire.MUTE))
        now, took = time.time(), time.monotonic() - asked
        nonce, _unused, clock = answer.decode("ascii", "replace").strip().partition(" ")
        if nonce != target.nonce:
            return _Visit(replace(arrived, outcome=wire.STRANGER))
        try:
            await loop.sock_sendall(client, bytes(segment))
            done = await asyncio.wait_for(loop.sock_recv(client, _LINE), seconds)
        except (asyncio.TimeoutError, OSError):
            done = b""
        return _Visit(arrived, _packet(client), lost=not done, clock=_clock(clock, now, took))


def _clock(told: str, now: float, took: float) -> wire.Clock | None:
    """Compare the time that another host told with the own, taken when its answer was here.

    It was told at some moment of the round trip, most likely in its middle (as RFC 5905 assumes).
    """
    try:
        return wire.Clock(ahead=float(told) - (now - took / 2), error=took / 2)
    except ValueError:
        return None


async def _connected(source: str, target: str, port: int, size: int | None) -> socket.socket:
    six = ":" in target
    client = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_STREAM)
    try:
        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if size is not None:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, size - (60 if six else 40))
        client.bind((source, 0))
        loop = asyncio.get_running_loop()
        await asyncio.wait_for(loop.sock_connect(client, (target, port)), CONNECT_SECONDS)
    except BaseException:
        client.close()
        raise
    return client


def _packet(client: socket.socket) -> int:
    """The size of a full IP packet of a connection, in bytes, as the kernel sees it now."""
    headers = 60 if client.family == socket.AF_INET6 else 40
    if client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8)[5] & _TIMESTAMPS:
        headers += 12
    return client.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG) + headers


def _outcome(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        return _OUTCOMES.get(error.errno, errno.errorcode.get(error.errno, "error"))
    return wire.TIMEOUT


async def _say_done(host: str, own: wire.Listener, target: wire.Listener) -> None:
    # Who misses it keeps listening until its time is over.
    with contextlib.suppress(asyncio.TimeoutError, OSError):
        port = target.ports[0].number
        with await _connected(own.address, target.address, port, None) as client:
            loop = asyncio.get_running_loop()
            await loop.sock_sendall(client, f"done {host}\n".encode())
            await asyncio.wait_for(loop.sock_recv(client, _LINE), PACKET_SECONDS)


async def _duplicate(own: wire.Listener, absent: dict[str, str]) -> str | None:
    """Return the MAC address of another machine that claims the own address.

    IPv4 is asked for as RFC 5227 says, which no neighbour table remembers; for IPv6 the kernel
    does it by itself and refuses the address.
    """
    if ":" in own.address:
        return None
    mac = _sysfs(own.interface, "address")
    if _sysfs(own.interface, "type") != _ETHERNET or not mac or not own.carries:
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
    loop = asyncio.get_running_loop()
    with asking:
        asking.setblocking(False)
        asking.bind((own.interface, _ARP))
        deadline = time.monotonic() + ARP_SECONDS
        with contextlib.suppress(asyncio.TimeoutError, OSError):
            await loop.sock_sendall(asking, request)
            while True:
                left = deadline - time.monotonic()
                frame = await asyncio.wait_for(loop.sock_recv(asking, 128), max(left, 0))
                claimed = _claimed(frame, address)
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


def _own_macs() -> frozenset[str]:
    with contextlib.suppress(OSError):
        names = os.listdir("/sys/class/net")
        return frozenset(
            mac for name in names if (mac := _sysfs(name, "address") or "").strip("0:")
        )
    return frozenset()


def _sysfs(interface: str, attribute: str) -> str | None:
    try:
        with open(f"/sys/class/net/{interface}/{attribute}", encoding="ascii") as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError):
        return None
