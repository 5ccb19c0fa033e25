# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The module documents the action of its name, and is nothing but that."""

from __future__ import annotations

import yaml

from ansible_collections.samewire.vllm.plugins.action import controller_files as action
from ansible_collections.samewire.vllm.plugins.modules import controller_files


def test_it_says_what_the_action_takes() -> None:
    said = yaml.safe_load(controller_files.DOCUMENTATION)["options"]
    keys = ("type", "required", "default")
    told = {name: {key: each[key] for key in keys if key in each} for name, each in said.items()}
    taken = {
        name: {key: each[key] for key in keys if key in each}
        for name, each in action.ARGUMENTS.items()
    }
    assert told == taken
    assert not hasattr(controller_files, "main")
