# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Runs an action that waits for work in the background, on answers of its module given in advance."""

from __future__ import annotations

import types
from typing import Any

import pytest
from ansible.plugins.action import ActionBase

from ansible_collections.samewire.vllm.plugins.plugin_utils import _background_action

GOES_ON = {"changed": True, "over": False, "problem": "", "progress": "halfway"}


class Run:
    """Keeps what the action asked its module for, and what it showed."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        action: type[_background_action.BackgroundAction],
        **arguments: Any,
    ) -> None:
        self.shown: list[str] = []
        self.asked: list[dict[str, Any]] = []
        self._patch = monkeypatch
        self._action = action
        self._arguments = {"name": "n", **arguments}

    def __call__(self, *answers: dict[str, Any], check: bool = False) -> Any:
        action = self._action.__new__(self._action)
        action._task = types.SimpleNamespace(check_mode=check, args=dict(self._arguments))
        coming = iter(answers)

        def say(arguments: dict[str, Any], _task_vars: dict[str, Any]) -> dict[str, Any]:
            self.asked.append(arguments)
            return next(coming)

        self._patch.setattr(action, "module_result", say)
        self._patch.setattr(ActionBase, "run", lambda *_: {})
        self._patch.setattr(_background_action.display, "display", self.shown.append)
        return action.run(task_vars={"inventory_hostname": "node1"})
