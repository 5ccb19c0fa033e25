# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A probe over loopback."""

from __future__ import annotations

import socket

from tests.unit.modules import run_module


def test_wire_probe_finds_who_answers_and_who_does_not() -> None:
    listeners = {
        name: run_module("wire_listen", address=address, interface="lo", peers=peers, seconds=20)[
            "listener"
        ]
        for name, address, peers in (("a", "127.0.0.1", ["b"]), ("b", "127.0.0.2", ["a"]))
    }
    stranger = {**listeners["b"], "nonce": "another"}
    closed = {**listeners["b"], "ports": [{"port": 1, "live": False}]}
    with socket.create_server(("127.0.0.2", 0)) as server:
        mute = {**listeners["b"], "ports": [{"port": server.getsockname()[1], "live": False}]}
        found = run_module(
            "wire_probe",
            host="a",
            listeners={
                "a": listeners["a"],
                "stranger": stranger,
                "closed": closed,
                "mute": mute,
                "b": listeners["b"],
            },
        )
    run_module("wire_listen", end=listeners["a"])
    assert found["changed"] is False
    port = listeners["b"]["ports"][0]["port"]
    assert {each["target"]: each["attempts"] for each in found["probe"]["crossings"]} == {
        "stranger": [[port, "stranger"]],
        "closed": [[1, "refused"]],
        "mute": [[mute["ports"][0]["port"], "mute"]],
        "b": [[port, "connected"]],
    }
    whole = found["probe"]["crossings"][3]
    assert whole["lost"] is False
    assert whole["packet"] > 16384
