# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A probe over loopback."""

from __future__ import annotations

import socket
import threading
import time

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
    ahead, error = found["probe"]["crossings"][3]["clock"]
    assert abs(ahead) <= error
    whole = found["probe"]["crossings"][3]
    assert whole["lost"] is False
    assert whole["packet"] > 16384


def test_wire_probe_compares_clocks() -> None:
    listeners = {
        name: run_module("wire_listen", address=address, interface="lo", peers=["x"], seconds=20)[
            "listener"
        ]
        for name, address in (("a", "127.0.0.1"), ("b", "127.0.0.2"))
    }
    run_module("wire_listen", end=listeners["b"])
    with socket.create_server(("127.0.0.2", 0)) as server:

        def answer() -> None:
            client, _ = server.accept()
            with client:
                client.recv(256)
                client.sendall(f"{listeners['b']['nonce']} {time.time() + 7.3}\n".encode())
                client.recv(65536)

        threading.Thread(target=answer, daemon=True).start()
        listeners["b"]["ports"] = [{"port": server.getsockname()[1], "live": False}]
        found = run_module("wire_probe", host="a", listeners=listeners)
    run_module("wire_listen", end=listeners["a"])
    ahead, error = found["probe"]["crossings"][0]["clock"]
    assert abs(ahead - 7.3) <= error < 1
