# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""One look at a server: what the module says with an engine, a container, a log and an API, or without."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.modules import vllm_ready
from tests.unit.modules import run_module

BEGUN = "2026-11-30T13:00:00.5Z"
RUNNING = {"State": {"Status": "running", "ExitCode": 0, "StartedAt": BEGUN}, "RestartCount": 0}
NOWHERE = "http://127.0.0.1:1"


class Engine:
    """Answers as a Docker Engine whose container is in a given state."""

    def __init__(self, state: dict[str, Any] | None, *log: str) -> None:
        self._state = state
        self._log = list(log)

    def container(self, name: str) -> dict[str, Any] | None:
        return self._state

    def log_tail(self, name: str, lines: int, *, timestamps: bool) -> list[str]:
        assert self._state is not None
        assert timestamps
        return [line if line[:4] == "2026" else f"{BEGUN} {line}" for line in self._log[-lines:]]


def look(state: dict[str, Any] | None, *log: str) -> dict[str, Any]:
    return vllm_ready.look(Engine(state, *log), "pair-vllm", NOWHERE)  # type: ignore[arg-type]


def test_a_start_that_goes_on() -> None:
    seen = look(
        RUNNING, "samewire: Ray has exactly the planned nodes", "Initializing a V1 LLM engine"
    )
    assert (seen["ready"], seen["problem"], len(seen["log"])) == (False, "", 2)
    assert seen["progress"] == "starting the engine"
    assert not seen["joined"]


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        (None, "there is no container pair-vllm"),
        (
            {"State": {"Status": "exited", "ExitCode": 1}, "RestartCount": 0},
            "container pair-vllm exited with code 1",
        ),
        (
            {"State": {"Status": "restarting", "ExitCode": 2}, "RestartCount": 1},
            "container pair-vllm exited with code 2",
        ),
        (
            {"State": {"Status": "running", "ExitCode": 0, "StartedAt": BEGUN}, "RestartCount": 1},
            "container pair-vllm ended and was restarted",
        ),
    ],
)
def test_a_container_that_gave_up(state: dict[str, Any] | None, problem: str) -> None:
    seen = look(state, *(f"line {number}" for number in range(20)))
    assert seen["problem"] == problem
    assert seen["log"] == ([f"line {number}" for number in range(5, 20)] if state else [])


def test_what_an_earlier_start_said_does_not_count() -> None:
    seen = look(
        RUNNING,
        "2026-11-30T12:59:01.1Z INFO:     Application startup complete.",
        "2026-11-30T12:59:50.2Z vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.",
        "samewire: Ray has exactly the planned nodes",
    )
    assert seen["log"] == ["samewire: Ray has exactly the planned nodes"]
    assert (seen["findings"], seen["first_exception"]) == ([], "")


@pytest.mark.parametrize(
    ("restarts", "problem"),
    [(1, ""), (0, "container pair-vllm ended and was restarted")],
)
def test_only_restarts_of_this_start_count(restarts: int, problem: str) -> None:
    state = {"State": {"Status": "running", "ExitCode": 0, "StartedAt": BEGUN}, "RestartCount": 1}
    engine = Engine(state, "Initializing a V1 LLM engine")
    seen = vllm_ready.look(engine, "pair-vllm", NOWHERE, restarts)  # type: ignore[arg-type]
    assert seen["problem"] == problem


def test_a_known_fault_ends_the_wait_while_the_container_still_waits() -> None:
    seen = look(
        RUNNING,
        "(autoscaler) Error: No available node types can fulfill resource request "
        "{'GPU': 1.0, 'node:10.1.230.180': 0.001}.",
        "Waiting for creating a placement group of specs for 20 seconds.",
    )
    assert seen["problem"] == "the log of pair-vllm holds a known fault"
    assert seen["findings"][0]["id"] == "node_ip_mismatch"


def test_what_passes_is_told_with_its_time_and_not_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(0.0, 1.0)
    monkeypatch.setattr(vllm_ready.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(vllm_ready.time, "sleep", lambda _: None)
    coming = itertools.chain(["known", "known", "loading", "loading"], itertools.repeat("warming"))
    seen = vllm_ready.watch(
        lambda: {"progress": next(coming), "ready": False, "problem": ""}, "known", 6
    )
    assert seen["passed"] == [
        {"progress": "loading", "ago": 4.0},
        {"progress": "warming", "ago": 2.0},
    ]
    assert seen["progress"] == "warming"


def test_progress_that_returns_is_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm_ready.time, "sleep", lambda _: None)
    coming = iter(["known", "loading", "known"])
    looks = ({"progress": each, "ready": False, "problem": ""} for each in coming)
    last = {"progress": "known", "ready": True, "problem": ""}
    seen = vllm_ready.watch(lambda: next(looks, last), "known", 3600)
    assert [step["progress"] for step in seen["passed"]] == ["loading", "known"]


@pytest.mark.parametrize("end", [{"ready": True}, {"problem": "it is gone"}])
def test_what_ends_the_wait_ends_the_look(end: dict[str, Any]) -> None:
    seen = vllm_ready.watch(
        lambda: {"progress": "p", "ready": False, "problem": "", **end}, "", 3600
    )
    assert seen["passed"] == [{"progress": "p", "ago": 0.0}]


def test_without_an_engine() -> None:
    found = run_module("vllm_ready", container="c", url=NOWHERE)
    assert found["problem"] == "Docker does not answer (/nowhere does not exist)"
    assert found["changed"] is False


def test_no_result_bears_a_name_that_ansible_keeps_for_itself() -> None:
    # ansible-core takes `exception` out of a result on its way to an action.
    found = run_module("vllm_ready", container="c", url=NOWHERE, seconds=0)
    assert found["first_exception"] == ""
    assert "exception" not in found


@pytest.mark.parametrize(("status", "guarded"), [(404, True), (401, True), (404, False)])
def test_a_server_that_answers_without_its_key(
    monkeypatch: pytest.MonkeyPatch, status: int, guarded: bool
) -> None:
    answers = {"u/health": (200, ""), "u/samewire": (status, "")}
    monkeypatch.setattr(vllm_ready._local_api, "get", answers.get)
    seen = vllm_ready.look(Engine(RUNNING), "pair-vllm", "u", guarded=guarded)  # type: ignore[arg-type]
    is_open = guarded and status == 404
    assert seen["ready"] is not is_open
    assert seen["problem"] == (
        "its API answers without the key (status 404 for a path that does not exist, expected 401): the "
        "image's vLLM does not load --middleware; use another image, or set vllm_server_require_api_key: "
        "false where everybody who reaches the port may use it"
        if is_open
        else ""
    )
