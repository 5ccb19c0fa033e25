# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The kernel's table of TCP sockets, /proc/net/tcp and tcp6, as values.

Source: Documentation/networking/proc_net_tcp.rst of the Linux kernel. Addresses are printed as
native-endian 32-bit words in hexadecimal, ports in network order.
"""

from __future__ import annotations

import ipaddress
import struct
import sys
from collections.abc import Iterable
from dataclasses import dataclass

ESTABLISHED = "01"
SYN_SENT = "02"
LISTEN = "0A"


@dataclass(frozen=True)
class TcpSocket:
    """One TCP socket; addresses are canonical, IPv4-mapped IPv6 ones are given as IPv4."""

    local: str
    local_port: int
    remote: str
    remote_port: int
    state: str
    inode: int


def _address(text: str) -> str:
    words = [int(text[i : i + 8], 16) for i in range(0, len(text), 8)]
    packed = struct.pack(f"{'<' if sys.byteorder == 'little' else '>'}{len(words)}I", *words)
    address = ipaddress.ip_address(packed)
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def parse(lines: Iterable[str]) -> list[TcpSocket]:
    """Return the sockets of the lines of /proc/net/tcp or tcp6; lines of another form are left out."""
    sockets = []
    for line in lines:
        fields = line.split()
        if len(fields) < 10 or not fields[0].endswith(":"):
            continue
        local, local_port = fields[1].split(":")
        remote, remote_port = fields[2].split(":")
        sockets.append(
            TcpSocket(
                local=_address(local),
                local_port=int(local_port, 16),
                remote=_address(remote),
                remote_port=int(remote_port, 16),
                state=fields[3],
                inode=int(fields[9]),
            )
        )
    return sockets
