# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The wait on the controller: what it asks, shows and returns."""

from __future__ import annotations

import types
from typing import Any

import pytest
from ansible.plugins.action import ActionBase

from ansible_collections.samewire.vllm.plugins.action import hub_download

GOES_ON = {"changed": False, "over": False, "problem": "", "progress": "downloading weights"}


def run(
    monkeypatch: pytest.MonkeyPatch, *answers: dict[str, Any], check: bool = False
) -> tuple[Any, list[str]]:
    """Run the action on answers of the module given in advance."""
    action = hub_download.ActionModule.__new__(hub_download.ActionModule)
    action._task = types.SimpleNamespace(check_mode=check, args={"container": "pair-weights"})
    coming = iter(answers)
    shown: list[str] = []
    monkeypatch.setattr(action, "_execute_module", lambda **_: next(coming), raising=False)
    monkeypatch.setattr(ActionBase, "run", lambda *_: {})
    monkeypatch.setattr(hub_download.display, "display", shown.append)
    return action.run(task_vars={"inventory_hostname": "node0"}), shown


def test_it_looks_until_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    over = {**GOES_ON, "over": True, "progress": "downloaded"}
    result, shown = run(monkeypatch, GOES_ON, over)
    assert [line.rpartition(" (")[0] for line in shown] == [
        "node0: downloading weights",
        "node0: downloaded",
    ]
    assert (result["over"], "failed" in result) == (True, False)


def test_a_problem_bears_the_name_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = run(monkeypatch, {**GOES_ON, "problem": "org/tiny is gated"})
    assert (result["failed"], result["msg"]) == (True, "node0: org/tiny is gated")


def test_nothing_is_waited_for_in_check_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, check=True)[0] == {"changed": False, "over": False}
