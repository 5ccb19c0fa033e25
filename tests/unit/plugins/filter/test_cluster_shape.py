# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Where the ranks run is plain data, with lines for people."""

from __future__ import annotations

from typing import Any

from ansible_collections.samewire.vllm.plugins.filter.cluster_shape import cluster_shape
from tests.unit.plugins.filter.test_preflight_problems import SETTINGS
from tests.unit.plugins.module_utils import test_preflight

RDMA = {"rdma": [{"device": "mlx5_0", "state": "ACTIVE"}]}
DOWN = {"rdma": [{"device": "mlx5_0", "state": "DOWN"}]}


def shape(facts: dict[str, Any], **changes: Any) -> dict[str, Any]:
    own = {**SETTINGS, "vllm_server_tensor_parallel_size": 2, **changes}
    nodes = {"node0": test_preflight.node(), "node1": test_preflight.node()}
    return cluster_shape(
        {"node0": own, "node1": own}, "node0", {"node0": "1", "node1": "1"}, facts, nodes
    )


def test_two_hosts_with_rdma() -> None:
    assert shape({"node0": RDMA, "node1": RDMA}) == {
        "ranks": [
            {"rank": 0, "host": "node0", "replica": 0, "stage": 0, "shard": 0},
            {"rank": 1, "host": "node1", "replica": 0, "stage": 0, "shard": 1},
        ],
        "crossing": ["tensor"],
        "notes": [
            "tensor parallel 2 x pipeline parallel 1: rank 0 on node0, rank 1 on node1",
            "over the wire: tensor parallel, 2 all-reduces in every layer",
        ],
    }


def test_a_port_that_is_down_is_no_rdma() -> None:
    notes = shape({"node0": RDMA, "node1": DOWN})["notes"]
    assert len(notes) == 3
    assert notes[2].startswith("tensor parallel 2 is split across hosts, and node1 has no RDMA: ")


def test_one_gpu_of_two() -> None:
    notes = shape({"node0": {}, "node1": {}}, vllm_server_tensor_parallel_size=1)["notes"]
    assert notes == [
        "tensor parallel 1 x pipeline parallel 1: rank 0 on node0",
        "1 of 2 GPUs stay unused (node1: 1); raise one of the parallel sizes to use them",
    ]
