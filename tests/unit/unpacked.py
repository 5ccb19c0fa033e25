# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""All actions that send the sources of their module."""

from __future__ import annotations

from importlib import import_module

from ansible_collections.samewire.vllm.plugins.plugin_utils import _unpacked_action
from tests.unit.modules import ROOT


def _actions() -> dict[str, type[_unpacked_action.Unpacked]]:
    found = {}
    for file in sorted((ROOT / "plugins/action").glob("[a-z]*.py")):
        action = import_module(
            f"ansible_collections.samewire.vllm.plugins.action.{file.stem}"
        ).ActionModule
        if issubclass(action, _unpacked_action.Unpacked):
            found[file.stem] = action
    return found


ACTIONS = _actions()
