# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The wait on the controller: what it asks, shows and returns."""

from __future__ import annotations

import types
from typing import Any

import pytest
from ansible.plugins.action import ActionBase

from ansible_collections.samewire.vllm.plugins.action import image_pull

GOES_ON = {"changed": True, "over": False, "problem": "", "progress": "layers 1/2"}


class Run:
    """Runs the action on answers of the module given in advance."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shown: list[str] = []
        self.asked: list[dict[str, Any]] = []
        self._patch = monkeypatch

    def __call__(self, *answers: dict[str, Any], check: bool = False) -> Any:
        action = image_pull.ActionModule.__new__(image_pull.ActionModule)
        action._task = types.SimpleNamespace(check_mode=check, args={"name": "i:1"})
        coming = iter(answers)

        def execute(module_args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
            self.asked.append(module_args)
            return next(coming)

        self._patch.setattr(action, "_execute_module", execute, raising=False)
        self._patch.setattr(ActionBase, "run", lambda *_: {})
        self._patch.setattr(image_pull.display, "display", self.shown.append)
        return action.run(task_vars={"inventory_hostname": "node1"})


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(monkeypatch)


def test_it_starts_once_and_looks_until_the_end(run: Run) -> None:
    over = {**GOES_ON, "over": True, "progress": "received"}
    result = run({"changed": True, "job": "/tmp/job"}, GOES_ON, over)
    assert run.asked == [{"name": "i:1"}, *[{"name": "i:1", "job": "/tmp/job"}] * 2]
    assert [line.rpartition(" (")[0] for line in run.shown] == [
        "node1: layers 1/2",
        "node1: received",
    ]
    assert (result["changed"], result["over"], "failed" in result) == (True, True, False)


def test_a_problem_bears_the_name_of_the_host(run: Run) -> None:
    result = run({"changed": True, "job": "/tmp/job"}, {**GOES_ON, "problem": "it broke off"})
    assert (result["failed"], result["msg"]) == (True, "node1: it broke off")


def test_a_module_that_cannot_start(run: Run) -> None:
    assert run({"failed": True, "msg": "m"}) == {"failed": True, "msg": "m"}


def test_check_mode_asks_once(run: Run) -> None:
    assert run({"changed": True}, check=True) == {"changed": True}
    assert len(run.asked) == 1
