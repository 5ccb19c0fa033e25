# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The lock in the name of a run: who that is, and which holders are dead."""

from __future__ import annotations

import os
import subprocess
import types
from dataclasses import asdict
from typing import Any

import pytest
from ansible.plugins.action import ActionBase

from ansible_collections.samewire.vllm.plugins.action import cluster_lock
from ansible_collections.samewire.vllm.plugins.module_utils import _lock

FOREIGN = _lock.Holder("ben", "desk", 12, "200", "another boot")


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that asks while a holder has the lock: the result, and what the module was given."""

    def run(held: _lock.Holder | None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        action = cluster_lock.ActionModule.__new__(cluster_lock.ActionModule)
        action._task = types.SimpleNamespace(args={"cluster": "pair", "directory": "/d"})
        given: list[dict[str, Any]] = []

        def say(arguments: dict[str, Any], _task_vars: dict[str, Any]) -> dict[str, Any]:
            given.append(dict(arguments))
            free = held is None or arguments.get("dead") == asdict(held)
            lease = {} if free or held is None else asdict(_lock.Lease(held, 0.0, 60.0))
            return {"changed": free, "lease": lease, "problem": ""}

        monkeypatch.setattr(action, "module_result", say)
        monkeypatch.setattr(ActionBase, "run", lambda *_: {})
        return action.run(task_vars={"inventory_hostname": "spark0"}), given

    return run


def gone() -> _lock.Holder:
    """Return a run of this controller that has ended."""
    with subprocess.Popen(["sleep", "60"]) as process:
        holder = cluster_lock.holder(process.pid)
        process.kill()
    return holder


def test_a_free_lock_is_taken_by_the_run(ask: Any) -> None:
    result, given = ask(None)
    assert (result["problem"], len(given)) == ("", 1)
    assert given[0]["holder"] == asdict(cluster_lock.holder(os.getppid()))


def test_a_dead_run_of_this_controller_is_no_obstacle(ask: Any) -> None:
    dead = gone()
    result, given = ask(dead)
    assert (result["problem"], given[1]["dead"]) == ("", asdict(dead))


@pytest.mark.parametrize("held", [cluster_lock.holder(os.getpid()), FOREIGN], ids=["own", "other"])
def test_a_living_run_and_one_of_another_controller_are(ask: Any, held: _lock.Holder) -> None:
    result, given = ask(held)
    assert len(given) == 1
    assert result["problem"] == _lock.refusal("spark0", "pair", _lock.Lease(held, 0.0, 60.0))


def test_a_pid_that_another_process_has_now() -> None:
    me = cluster_lock.holder(os.getpid())
    assert me.space
    assert not cluster_lock.is_dead(me, me.space)
    assert cluster_lock.is_dead(
        _lock.Holder(me.user, me.controller, me.pid, "1", me.space), me.space
    )
    # Without a /proc nothing is known of any process.
    assert not cluster_lock.is_dead(_lock.Holder("a", "b", 1), "")


def test_a_module_that_failed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    action = cluster_lock.ActionModule.__new__(cluster_lock.ActionModule)
    action._task = types.SimpleNamespace(args={"cluster": "pair", "directory": "/d"})
    said = {"failed": True, "msg": "no space"}
    monkeypatch.setattr(action, "module_result", lambda *_: said)
    monkeypatch.setattr(ActionBase, "run", lambda *_: {})
    assert action.run(task_vars={}) == said
