# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The proof of the wire over loopback: who listens, who asks, and who ends."""

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
        name: run_module("wire_proof", step="listen", address=address, interface="lo", seconds=20)
        for name, address in addresses.items()
    }
    return (
        {name: each["listener"] for name, each in found.items()},
        {name: each["key"] for name, each in found.items()},
    )


def ask(**arguments: Any) -> dict[str, Any]:
    return run_module("wire_proof", step="ask", **arguments)


def end(listener: dict[str, Any]) -> dict[str, Any]:
    return run_module("wire_proof", step="end", listeners={"a": listener})


def answers(listener: dict[str, Any]) -> bool:
    with socket.socket() as client:
        return client.connect_ex((listener["address"], listener["ports"][0]["port"])) == 0


def listener_of(**arguments: Any) -> dict[str, Any]:
    found = run_module(
        "wire_proof", step="listen", address="127.0.0.1", interface="lo", **arguments
    )
    assert found["changed"] is False
    return dict(found["listener"])


def test_it_answers_until_it_is_asked_to_end() -> None:
    listener = listener_of(seconds=20)
    port = listener["ports"][0]["port"]
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"hello 4\n")
        nonce, told = client.recv(64).decode().split()
        assert nonce == listener["nonce"]
        assert abs(float(told) - time.time()) < 5
        client.sendall(b"1234")
        assert client.recv(64) == b"ok\n"
    assert end(listener)["changed"] is False
    assert not answers(listener)


def test_a_port_of_another_program_is_live_and_left_alone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        listener = listener_of(seconds=20, ports=[taken], port_ranges=[f"{taken}-{taken}"])
        assert listener["ports"][1:] == [{"port": taken, "live": True}] * 2
        end(listener)


def test_strangers_do_not_end_it() -> None:
    listener = listener_of(seconds=20)
    port = listener["ports"][0]["port"]
    for said in (
        b"",
        b"\x00\xff\n",
        b"hello x\n",
        b"hello -1\n",
        b"heard\n",
        b"GET / HTTP/1.1\r\n",
        b"end\n",
        b"probe\n",
        b"probe -1 x\n",
        b"probe 2 " + b"0" * 64 + b"\n{}",
        b"probe 2 \xff\n{}",
    ):
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(said)
    assert answers(listener)
    end(listener)


def test_an_order_under_another_key_is_not_answered() -> None:
    listener = listener_of(seconds=20)
    with socket.create_connection(("127.0.0.1", listener["ports"][0]["port"])) as client:
        client.sendall(b"probe 2 " + b"0" * 64 + b"\n{}")
        client.shutdown(socket.SHUT_WR)
        assert client.recv(64) == b""
    end(listener)


def test_an_address_that_the_host_does_not_have() -> None:
    found = run_module("wire_proof", step="listen", address="192.0.2.1", interface="lo")
    assert found["listener"]["problem"] == "Cannot assign requested address"


def test_all_hosts_are_asked_by_one_and_then_leave() -> None:
    listeners, keys = listen(a="127.0.0.1", b="127.0.0.2", c="127.0.0.3")
    found = ask(host="b", listeners=listeners, keys=keys)
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
    first = ask(host="a", listeners=listeners, keys={"a": keys["a"]})
    again = ask(host="b", listeners=listeners, keys={"a": keys["a"]})
    assert list(first["probes"]) == ["a"]
    assert again["probes"] == first["probes"]
    for each in listeners.values():
        end(each)


def test_who_does_not_obey_is_missing() -> None:
    listeners, keys = listen(a="127.0.0.1", b="127.0.0.2", gone="127.0.0.3")
    end(listeners["gone"])
    found = ask(host="a", listeners=listeners, keys={**keys, "b": "another"})
    assert list(found["probes"]) == ["a"]
    for each in listeners.values():
        end(each)


def test_wire_probe_finds_who_answers_and_who_does_not() -> None:
    listeners, keys = listen(a="127.0.0.1", b="127.0.0.2")
    stranger = {**listeners["b"], "nonce": "another"}
    closed = {**listeners["b"], "ports": [{"port": 1, "live": False}]}
    with socket.create_server(("127.0.0.2", 0)) as server:
        mute = {**listeners["b"], "ports": [{"port": server.getsockname()[1], "live": False}]}
        found = ask(
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
        end(each)
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
    end(listeners["b"])
    with socket.create_server(("127.0.0.2", 0)) as server:

        def answer() -> None:
            client, _ = server.accept()
            with client:
                client.recv(256)
                client.sendall(f"{listeners['b']['nonce']} {time.time() + 7.3}\n".encode())
                client.recv(65536)

        threading.Thread(target=answer, daemon=True).start()
        listeners["b"]["ports"] = [{"port": server.getsockname()[1], "live": False}]
        found = ask(host="a", listeners=listeners, keys={"a": keys["a"]})
    end(listeners["a"])
    ahead, error = found["probes"]["a"]["crossings"][0]["clock"]
    assert abs(ahead - 7.3) <= error < 1
