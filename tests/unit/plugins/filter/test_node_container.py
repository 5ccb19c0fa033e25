# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The options of a host's containers, and how a refusal reaches the user."""

from __future__ import annotations

import dataclasses

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.samewire.vllm.plugins.filter import node_container
from tests.unit.plans import plan
from tests.unit.plugins.module_utils import test_containers


def test_node_container() -> None:
    settings = dataclasses.asdict(test_containers.SETTINGS)
    found = node_container.node_container(plan(), "spark1", settings, ["--num-cpus=2"])
    assert found["options"]["image"] == "registry.example/vllm:1"
    assert found["ray_command"][-1] == "--num-cpus=2"
    settings["environment"] = {"VLLM_HOST_IP": "10.1.230.181"}
    with pytest.raises(AnsibleFilterError, match=r"^spark1: the environment sets VLLM_HOST_IP"):
        node_container.node_container(plan(), "spark1", settings)
