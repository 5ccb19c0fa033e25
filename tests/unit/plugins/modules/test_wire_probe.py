# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A probe over loopback."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

from tests.unit.modules import run_module
from tests.unit.waiting import until


def listen(**addresses: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Listen at addresses of loopback, as hosts of these names; return the listeners and their keys."""
    found = {
        name: run_module("wire_listen", address=address, interface="lo", seconds=20)
        for name, address in addresses.items()
    }
    return (
        {name: each["listener"] for name, each in found.items()},
        {name: each["key"] for name, each in found.items()},
    )


def answers(listener: dict[str, Any]) -> bool:
    with socket.socket() as client:
        return client.connect_ex((listener["address"], listener["ports"][0]["port"])) == 0


def test_all_hosts_are_asked_by_one_and_then_leave() -> None:
    listeners, keys = listen(a="127.0.0.1", b="127.0.0.2", c="127.0.0.3")
    found = run_module("wire_probe", host="b", listeners=listeners, keys=keys)
    assert found["changed"] is False
    outcomes = {
        (source, each["target"], outcome)
        for source, probe in found["probes"].items()
        for each in probe["crossings"]
        for _, outcome in each["attempts"]
    }
    assert outcomes == {(x, y, "connected") for x in "abc" for y in "abc" if x != y}
    # Long before their time is over.
    until(lambda: not any(answers(each) for each in listeners.values()), 10)


def test_who_is_asked_again_gives_the_same_answer() -> None:
    listeners, keys = listen(a="127.0.0.1", b="127.0.0.2")
    first = run_module("wire_probe", host="a", listeners=listeners, keys={"a": keys["a"]})
    again = run_module("wire_probe", host="b", listeners=listeners, keys={"a": keys["a"]})
    assert list(first["probes"]) == ["a"]
    assert again["probes"] == first["probes"]
    for each in listeners.values():
        run_module("wire_listen", end=each)


def test_who_does_not_obey_is_missing() -> None:
    listeners, keys = listen(a="127.0.0.1", b="127.0.0.2", gone="127.0.0.3")
    run_module("wire_listen", end=listeners["gone"])
    found = run_module("wire_probe", host="a", listeners=listeners, keys={**keys, "b": "another"})
    assert list(found["probes"]) == ["a"]
    for each in listeners.values():
        run_module("wire_listen", end=each)


def test_wire_probe_finds_who_answers_and_who_does_not() -> None:
    listeners, keys = listen(a="127.0.0.1", b="127.0.0.2")
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
            keys={"a": keys["a"]},
        )
    for each in listeners.values():
        run_module("wire_listen", end=each)
    crossings = found["probes"]["a"]["crossings"]
    port = listeners["b"]["ports"][0]["port"]
    assert {each["target"]: each["attempts"] for each in crossings} == {
        "stranger": [[port, "stranger"]],
        "closed": [[1, "refused"]],
        "mute": [[mute["ports"][0]["port"], "mute"]],
        "b": [[port, "connected"]],
    }
    whole = crossings[3]
    ahead, error = whole["clock"]
    assert abs(ahead) <= error
    assert whole["lost"] is False
    assert whole["packet"] > 16384


def test_wire_probe_compares_clocks() -> None:
    listeners, keys = listen(a="127.0.0.1", b="127.0.0.2")
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
        found = run_module("wire_probe", host="a", listeners=listeners, keys={"a": keys["a"]})
    run_module("wire_listen", end=listeners["a"])
    ahead, error = found["probes"]["a"]["crossings"][0]["clock"]
    assert abs(ahead - 7.3) <= error < 1
