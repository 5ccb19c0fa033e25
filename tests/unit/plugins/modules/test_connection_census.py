# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The connections of this machine."""

from __future__ import annotations

import socket

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _sockets
from ansible_collections.samewire.vllm.plugins.modules import connection_census
from tests.unit.modules import run_module


def test_connection_census_sees_what_leaves_loopback_out() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()),
    ):
        found = run_module("connection_census")
    assert found["changed"] is False
    assert all(not entry["remote"].startswith("127.") for entry in found["connections"])


def test_what_nobody_has_answered_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    sockets = [
        _sockets.TcpSocket("10.0.0.1", 5, "10.0.0.2", 6, _sockets.SYN_SENT, 1),
        _sockets.TcpSocket("10.0.0.1", 7, "10.0.0.2", 8, _sockets.ESTABLISHED, 2),
        _sockets.TcpSocket("10.0.0.1", 22, "10.0.0.9", 9, _sockets.ESTABLISHED, 3),
        _sockets.TcpSocket("127.0.0.1", 7, "127.0.0.1", 8, _sockets.SYN_SENT, 4),
    ]
    monkeypatch.setattr(_sockets, "parse", lambda _lines: sockets)
    ends = {"local": "10.0.0.1", "remote": "10.0.0.2"}
    waiting = connection_census.connections(_sockets.SYN_SENT, {22})
    assert waiting == [{**ends, "local_port": 5, "remote_port": 6}]
    joined = connection_census.connections(_sockets.ESTABLISHED, {22})
    assert joined == [{**ends, "local_port": 7, "remote_port": 8}]
