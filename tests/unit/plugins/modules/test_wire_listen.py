# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A listener on loopback: what it reports, that it ends, that others' ports stay theirs."""

from __future__ import annotations

import socket
import time
from typing import Any

from tests.unit.modules import run_module


def listen(**arguments: Any) -> dict[str, Any]:
    found = run_module("wire_listen", address="127.0.0.1", interface="lo", **arguments)
    assert found["changed"] is False
    return dict(found["listener"])


def answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_it_answers_until_it_is_asked_to_end() -> None:
    listener = listen(seconds=20)
    port = listener["ports"][0]["port"]
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"hello 4\n")
        nonce, told = client.recv(64).decode().split()
        assert nonce == listener["nonce"]
        assert abs(float(told) - time.time()) < 5
        client.sendall(b"1234")
        assert client.recv(64) == b"ok\n"
    assert run_module("wire_listen", end=listener)["changed"] is False
    assert not answers(port)


def test_a_port_of_another_program_is_live_and_left_alone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        listener = listen(seconds=20, ports=[taken], port_ranges=[f"{taken}-{taken}"])
        assert listener["ports"][1:] == [{"port": taken, "live": True}] * 2
        run_module("wire_listen", end=listener)


def test_strangers_do_not_end_it() -> None:
    listener = listen(seconds=20)
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
    assert answers(port)
    run_module("wire_listen", end=listener)


def test_an_order_under_another_key_is_not_answered() -> None:
    listener = listen(seconds=20)
    with socket.create_connection(("127.0.0.1", listener["ports"][0]["port"])) as client:
        client.sendall(b"probe 2 " + b"0" * 64 + b"\n{}")
        client.shutdown(socket.SHUT_WR)
        assert client.recv(64) == b""
    run_module("wire_listen", end=listener)


def test_an_address_that_the_host_does_not_have() -> None:
    found = run_module("wire_listen", address="192.0.2.1", interface="lo")
    assert found["listener"]["problem"] == "Cannot assign requested address"
