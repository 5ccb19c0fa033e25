# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Listens on the interconnect and answers who asks there; needs no privilege, keeps nothing."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterable

from ansible_collections.samewire.vllm.plugins.module_utils import _wire as wire
from ansible_collections.samewire.vllm.plugins.module_utils import _wire_probe as probing
from ansible_collections.samewire.vllm.plugins.module_utils import _wire_talk as talk

_UP, _LOOPBACK, _POINTOPOINT, _NOARP = 0x1, 0x8, 0x10, 0x80  # linux/if.h


def listen(
    address: str, interface: str, ports: Iterable[int], ranges: Iterable[str]
) -> tuple[wire.Listener, list[socket.socket]]:
    """Bind the ports, one free port of each range ("FIRST-LAST"), and one of the kernel's choice.

    The last socket is the one on which the own host asks, where no network lies between. Never raises
    for the network: what is wrong is the listener's `problem`.
    """
    problem = None
    opened: list[tuple[wire.Port, socket.socket | None]] = []
    try:
        opened = [_bound(address, number) for number in (0, *ports)]
        opened += [_first_free(address, text) for text in ranges]
    except OSError as error:
        problem = os.strerror(error.errno) if error.errno else str(error)
    flags = int(probing.sysfs(interface, "flags") or "0", 16)
    mtu = probing.sysfs(interface, "mtu")
    listener = wire.Listener(
        address=address,
        interface=interface,
        nonce=secrets.token_hex(8),
        ports=tuple(port for port, _unused in opened),
        mtu=int(mtu) if mtu else None,
        carrier=bool(flags & _UP) and probing.sysfs(interface, "carrier") != "0",
        carries=not flags & _LOOPBACK and (not flags & _NOARP or bool(flags & _POINTOPOINT)),
        macs=_own_macs(),
        problem=problem,
    )
    bell = socket.socket(socket.AF_UNIX)
    bell.bind(talk.bell(listener.nonce))
    bell.listen()
    return listener, [*(each for _unused, each in opened if each is not None), bell]


def serve(
    listener: wire.Listener,
    key: str,
    sockets: Iterable[socket.socket],
    seconds: float,
    run: probing.Run,
) -> None:
    """Answer on the sockets until somebody has heard what all hosts saw, or the time is over.

    It leaves threads behind that wait for clients, so the process should end with it.
    """
    doors = list(sockets)
    over = threading.Event()
    trying = threading.Lock()
    seen: list[wire.Probe] = []

    def answer(client: socket.socket, own: bool) -> None:
        # A client may vanish, or be no client of ours.
        with client, contextlib.suppress(OSError, ValueError, EOFError):
            said = talk.line(client, seconds)
            verb, _unused, argument = said.partition(" ")
            if verb == "hello":
                client.sendall(f"{listener.nonce} {time.time():.6f}\n".encode())
                talk.exactly(client, min(int(argument), 65535), seconds)
                client.sendall(b"ok\n")
            elif verb == "probe":
                order = talk.unsealed(key, "probe", said, client, seconds)
                client.sendall(b"ok\n")
                with trying:
                    # Who asks again, since the answer was lost, gets the same.
                    if not seen:
                        seen.append(probing.obey(order, run))
                client.sendall(talk.sealed(key, "probed", wire.render_probe(seen[0])))
                if talk.line(client, seconds) == "heard":
                    leave()
            elif verb == "end" and own:
                leave()
            # The client closes first, so that TIME_WAIT is not on the port that Ray will bind.
            client.settimeout(1)
            client.recv(1)

    def welcome(door: socket.socket) -> None:
        own = door.family == socket.AF_UNIX
        with contextlib.suppress(OSError):
            while True:
                client, _unused = door.accept()
                threading.Thread(target=answer, args=(client, own), daemon=True).start()

    def leave() -> None:
        for door in doors:
            with contextlib.suppress(OSError):
                # Closing alone does not wake who accepts.
                door.shutdown(socket.SHUT_RDWR)
            door.close()
        over.set()

    for door in doors:
        threading.Thread(target=welcome, args=(door,), daemon=True).start()
    over.wait(seconds)
    leave()


def end(listener: wire.Listener) -> None:
    """Ask the listener of this host to end; one that ended already is as good."""
    with contextlib.suppress(OSError), talk.rung(listener.nonce) as client:
        client.sendall(b"end\n")
        client.recv(1)


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


def _own_macs() -> frozenset[str]:
    with contextlib.suppress(OSError):
        names = os.listdir("/sys/class/net")
        return frozenset(
            mac for name in names if (mac := probing.sysfs(name, "address") or "").strip("0:")
        )
    return frozenset()
