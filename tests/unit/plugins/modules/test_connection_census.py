# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The connections of this machine."""

from __future__ import annotations

import socket

from tests.unit.modules import run_module


def test_connection_census_sees_what_leaves_loopback_out() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()),
    ):
        found = run_module("connection_census")
    assert found["changed"] is False
    assert all(not entry["remote"].startswith("127.") for entry in found["connections"])
