# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""How the hosts talk to each other while they prove the wire: lines of ASCII over TCP.

A client says `hello SIZE` and gets the listener's nonce, which tells the planned host from another one with
its address, and the time of its clock; then it sends SIZE bytes in one segment and gets `ok`.

One host has all listeners do the same to all others, so that none of them must be asked through Ansible:
`probe SIZE DIGEST` and SIZE bytes of JSON, answered by `ok`, then by `probed SIZE DIGEST` and what was seen.
When it has that of all hosts, it says `heard`, and the listeners end. The digest is an HMAC under a key that
only the controller hands out and that never crosses the interconnect.

Everything waits for a bounded time; what takes longer raises an OSError, as a connection that fails does.
"""

from __future__ import annotations

import hmac
import json
import socket
import time
from collections.abc import Mapping
from typing import Any

CONNECT_SECONDS = 2.0  # long enough for a SYN that is lost and sent again after 1 s
REPLY_SECONDS = 4.0  # a loaded host may be slow to say who it is
_LONGEST_LINE = 256
_LONGEST = 1 << 24  # bytes of JSON, enough for more hosts than have fitted into one segment


def bell(nonce: str) -> str:
    """The abstract socket of a listener, which no firewall of its host filters and which leaves no file."""
    return f"\0samewire-wire-{nonce}"


def headers(address: str) -> int:
    """Bytes of a packet to an address that are neither payload of TCP nor options."""
    return 60 if ":" in address else 40


def connected(source: str, target: str, port: int, size: int | None = None) -> socket.socket:
    """Connect over the interconnect; size: of the largest packet, in bytes, None leaves it to the kernel."""
    client = socket.socket(socket.AF_INET6 if ":" in target else socket.AF_INET)
    try:
        client.settimeout(CONNECT_SECONDS)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if size is not None:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, size - headers(target))
        client.bind((source, 0))
        client.connect((target, port))
    except BaseException:
        client.close()
        raise
    return client


def rung(nonce: str) -> socket.socket:
    """Connect to the listener of the own host."""
    client = socket.socket(socket.AF_UNIX)
    try:
        client.settimeout(CONNECT_SECONDS)
        client.connect(bell(nonce))
    except BaseException:
        client.close()
        raise
    return client


def line(client: socket.socket, seconds: float) -> str:
    """Read a line without its end; ValueError where it is none, EOFError where nothing more comes."""
    deadline = time.monotonic() + seconds
    read = b""
    while not read.endswith(b"\n"):
        if len(read) > _LONGEST_LINE:
            raise ValueError("the line does not end")
        # What follows a line is not part of it.
        seen = _received(client, _LONGEST_LINE, deadline, socket.MSG_PEEK)
        read += client.recv(seen.find(b"\n") + 1 or len(seen))
    return read[:-1].decode("ascii")


def exactly(client: socket.socket, size: int, seconds: float) -> bytes:
    """Read that many bytes; EOFError where fewer come."""
    deadline = time.monotonic() + seconds
    parts = []
    while size > 0:
        parts.append(_received(client, min(size, 1 << 16), deadline))
        size -= len(parts[-1])
    return b"".join(parts)


def _received(client: socket.socket, size: int, deadline: float, flags: int = 0) -> bytes:
    # No time left must not mean to wait without end, or not at all.
    client.settimeout(max(deadline - time.monotonic(), 0.001))
    part = client.recv(size, flags)
    if not part:
        raise EOFError
    return part


def sealed(key: str, verb: str, content: Mapping[str, Any]) -> bytes:
    """A line and JSON that only who has the key can have written."""
    payload = json.dumps(content).encode()
    return f"{verb} {len(payload)} {_digest(key, verb, payload)}\n".encode() + payload


def unsealed(key: str, verb: str, said: str, client: socket.socket, seconds: float) -> Any:
    """The inverse of `sealed`, for a line that was read already; ValueError where it is not so."""
    read, size, digest = said.split()
    payload = exactly(client, min(int(size), _LONGEST), seconds)
    if read != verb or not hmac.compare_digest(digest, _digest(key, verb, payload)):
        raise ValueError(f"not sealed with the key of the {verb}")
    return json.loads(payload)


def _digest(key: str, verb: str, payload: bytes) -> str:
    return hmac.new(key.encode(), verb.encode() + payload, "sha256").hexdigest()
