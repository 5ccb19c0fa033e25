# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Which ports and weights are judged where."""

from __future__ import annotations

from typing import Any

from ansible_collections.samewire.vllm.plugins.filter import preflight_problems
from tests.unit.plugins.module_utils import test_preflight, test_weights


def judged(nodes: dict[str, Any], **arguments: Any) -> list[str]:
    return preflight_problems.preflight_problems(
        nodes,
        head="node0",
        image="i",
        model="/models/tiny",
        tensor_parallel_size=2,
        pipeline_parallel_size=1,
        gpus={"node0": 1, "node1": 1},
        ports={
            "node0": {"6379": ["the Ray head", "ray_node_port"]},
            "node1": {"7001": ["Ray's node manager", "ray_node_extra_args"]},
        },
        **arguments,
    )


def test_ports_are_judged_where_they_are_wanted() -> None:
    taken = test_preflight.node(ports={"6379": "redis-server (pid 9)"})
    assert judged({"node0": test_preflight.node(), "node1": taken}) == []
    taken = test_preflight.node(ports={"7001": "a process that this user may not see"})
    assert judged({"node0": test_preflight.node(), "node1": taken}) == [
        "node1: port 7001 for Ray's node manager is taken by a process that this user may not see; stop it "
        "or set ray_node_extra_args to a free port"
    ]


def test_weights_are_judged_where_they_exist_and_unless_skipped() -> None:
    nodes = {
        "node0": test_preflight.node(),
        "node1": test_preflight.node(paths={"/models/tiny": False}),
    }
    cut = test_weights.own(broken={"model.safetensors": [5, 4]})
    weights = {"node0": cut, "node1": {"exists": False}}
    assert judged(nodes, weights=weights) == [
        "node1: model path /models/tiny does not exist; expected the weights there on every host, copy "
        "them to node1 or correct vllm_server_model",
        "node0: /models/tiny/model.safetensors is damaged: expected 5 bytes by its header, got 4 bytes; copy "
        "it to node0 again",
    ]
    assert judged(nodes, weights=weights, skip=["weights"]) == []
