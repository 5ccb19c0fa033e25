# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The kernel's socket table, on lines as Linux prints them and on a socket of our own."""

from __future__ import annotations

import pathlib
import socket

from ansible_collections.samewire.vllm.plugins.module_utils import _sockets

TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0C02D50A:18EB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 711 1 0
   1: 0C02D50A:18EB 0D02D50A:9C40 01 00000000:00000000 02:00000000 00000000     0        0 712 2 0
"""
TCP6 = """\
   0: 0000000000000000FFFF00000C02D50A:1F40 0000000000000000FFFF00000D02D50A:9C41 01 0:0 0:0 0 0 0 713 1
   1: 000000FD000000000000000012000000:1F40 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 714 1
"""


def test_ipv4() -> None:
    assert _sockets.parse(TCP.splitlines()) == [
        _sockets.TcpSocket("10.213.2.12", 6379, "0.0.0.0", 0, _sockets.LISTEN, 711),
        _sockets.TcpSocket("10.213.2.12", 6379, "10.213.2.13", 40000, _sockets.ESTABLISHED, 712),
    ]


def test_mapped_addresses_are_ipv4_and_others_stay() -> None:
    mapped, own = _sockets.parse(TCP6.splitlines())
    assert (mapped.local, mapped.remote, mapped.remote_port) == (
        "10.213.2.12",
        "10.213.2.13",
        40001,
    )
    assert (own.local, own.remote) == ("fd00::12", "::")


def test_an_open_socket_of_this_process_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        inode = pathlib.Path(f"/proc/self/fd/{server.fileno()}").readlink().name
        found = _sockets.parse(pathlib.Path("/proc/self/net/tcp").read_text().splitlines())
    (own,) = [entry for entry in found if entry.local_port == port]
    assert (own.local, own.state) == ("127.0.0.1", _sockets.LISTEN)
    assert f"socket:[{own.inode}]" == inode
