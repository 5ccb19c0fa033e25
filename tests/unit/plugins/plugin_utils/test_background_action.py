# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The wait on the controller: what it asks, shows and returns, for each action that waits so."""

from __future__ import annotations

import pytest

from ansible_collections.samewire.vllm.plugins.action import (
    image_pull,
    image_receive,
    weights_receive,
)
from tests.unit.background_actions import GOES_ON, Run

ACTIONS = [image_pull.ActionModule, image_receive.ActionModule, weights_receive.ActionModule]


@pytest.fixture(params=ACTIONS, ids=lambda action: action.__module__.rpartition(".")[2])
def run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(monkeypatch, request.param)


def test_it_starts_once_and_looks_until_the_end(run: Run) -> None:
    over = {**GOES_ON, "over": True, "progress": "received"}
    result = run({"changed": True, "job": "/tmp/job"}, GOES_ON, over)
    assert run.asked == [{"name": "n"}, *[{"name": "n", "job": "/tmp/job"}] * 2]
    assert [line.rpartition(" (")[0] for line in run.shown] == [
        "node1: halfway",
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
