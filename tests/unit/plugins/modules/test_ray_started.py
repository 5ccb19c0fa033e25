# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""One look at a Ray container, and how the wait ends."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.modules import ray_started
from tests.unit.modules import run_module

BEGUN = time.strftime("%Y-%m-%dT%H:%M:%S.1Z", time.gmtime())
EARLIER = "2026-01-01T00:00:00.1Z"


class Engine:
    """Answers as an engine with one container, or none."""

    def __init__(self, *log: str, status: str = "running", begun: str = BEGUN, restarts: int = 0):
        self._state = {
            "State": {"Status": status, "ExitCode": 1, "StartedAt": begun},
            "RestartCount": restarts,
        }
        self._log = list(log)

    def container(self, name: str) -> dict[str, Any] | None:
        return self._state if name == "pair-ray" else None

    def log_tail(self, name: str, lines: int, *, timestamps: bool) -> list[str]:
        assert timestamps
        return self._log


def look(engine: Engine, restarts: int = 0) -> tuple[bool, str]:
    started, problem, _ = ray_started.look(engine, "pair-ray", restarts)  # type: ignore[arg-type]
    return started, problem


@pytest.mark.parametrize(
    ("engine", "seen"),
    [
        (Engine(f"{BEGUN} Ray runtime started."), (True, "")),
        (Engine(f"{BEGUN} Local node IP: 10.0.0.1"), (False, "")),
        # It said so before it was restarted, not since.
        (Engine(f"{EARLIER} Ray runtime started."), (False, "")),
        # Its log was rotated away long ago.
        (Engine(begun=EARLIER), (True, "")),
        (Engine(status="exited"), (False, "container pair-ray exited with code 1")),
        (Engine(restarts=1), (False, "container pair-ray ended and was restarted")),
    ],
)
def test_look(engine: Engine, seen: tuple[bool, str]) -> None:
    assert look(engine) == seen


def test_only_where_an_address_is_given_somebody_must_answer_there() -> None:
    assert ray_started.answers("", 1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert ray_started.answers("127.0.0.1", port)
    assert not ray_started.answers("127.0.0.1", port)


def test_a_ray_that_does_not_answer_is_given_up() -> None:
    assert ray_started.silent("pair-ray", "10.0.0.1:6379", 60, 120) == ""
    assert ray_started.silent("pair-ray", "10.0.0.1:6379", 121, 120) == (
        "container pair-ray says that it has, but nothing answers at 10.0.0.1:6379 after 120 s"
    )


def test_restarts_of_the_past_are_let_pass() -> None:
    assert look(Engine(restarts=3, status="restarting"), restarts=3) == (False, "")
    assert look(Engine(restarts=4), restarts=3) == (
        False,
        "container pair-ray ended and was restarted",
    )


@pytest.mark.parametrize(
    ("line", "waited", "problem"),
    [
        ("Local node IP: 10.0.0.2", 119, ""),
        ("Local node IP: 10.0.0.2", 121, "container c has not started it after 120 s"),
        (
            "rpc_client.h:153: Failed to connect to GCS at address 10.0.0.1:6379 within 5 seconds.",
            19,
            "",
        ),
        (
            "rpc_client.h:153: Failed to connect to GCS at address 10.0.0.1:6379 within 5 seconds.",
            21,
            "container c has tried in vain for 21 s",
        ),
    ],
)
def test_who_still_tries_is_given_up(line: str, waited: float, problem: str) -> None:
    assert ray_started.overdue("c", [line], waited, timeout=120, patience=20) == problem


def test_no_container() -> None:
    assert ray_started.look(Engine(), "other", 0) == (  # type: ignore[arg-type]
        False,
        "there is no container other",
        [],
    )


def test_the_message_without_a_known_cause() -> None:
    lines = [str(number) for number in range(20)]
    said = ray_started._message("node1", "container c exited with code 1", lines, [])
    assert said.splitlines() == [
        "node1: Ray does not start: container c exited with code 1",
        *(f"  {number}" for number in range(5, 20)),
    ]


def test_without_an_engine() -> None:
    made = run_module("ray_started", host="node1", container="pair-ray", timeout=1)
    assert made["failed"] is True
    assert made["msg"] == (
        "node1: Ray does not start: Docker does not answer (/nowhere does not exist)"
    )


def test_check_mode_waits_for_nothing() -> None:
    assert run_module("ray_started", check=True, host="node1", container="c")["changed"] is False
