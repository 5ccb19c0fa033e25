# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Which ports are judged where."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter import preflight_problems
from tests.unit.plugins.module_utils import test_preflight


def test_ports_are_judged_on_the_head_alone() -> None:
    taken = test_preflight.node(ports={"6379": "redis-server (pid 9)"})
    found = preflight_problems.preflight_problems(
        {"node0": test_preflight.node(), "node1": taken},
        head="node0",
        image="i",
        model="/models/tiny",
        tensor_parallel_size=2,
        pipeline_parallel_size=1,
        gpus={"node0": 1, "node1": 1},
        ray_port=6379,
        api_port=8000,
    )
    assert found == []
