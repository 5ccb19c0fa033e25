# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The replicas of data parallel meet at the planned address of the head."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter.parallel_arguments import parallel_arguments
from tests.unit.plugins.filter.test_preflight_problems import SETTINGS

PLAN = {"hosts": {"node0": {"address": "192.0.2.10"}, "node1": {"address": "192.0.2.11"}}}
GPUS = {"node0": "2", "node1": "2"}


def test_one_replica() -> None:
    assert parallel_arguments(PLAN, "node0", GPUS, SETTINGS) == [
        *("--distributed-executor-backend", "ray"),
        *("--tensor-parallel-size", "1"),
        *("--pipeline-parallel-size", "1"),
    ]


def test_a_replica_on_each_host() -> None:
    wanted = {**SETTINGS, "vllm_server_data_parallel_size": "2"}
    assert parallel_arguments(PLAN, "node0", GPUS, wanted)[6:] == [
        *("--data-parallel-size", "2"),
        *("--data-parallel-size-local", "1"),
        *("--data-parallel-backend", "ray"),
        *("--data-parallel-address", "192.0.2.10"),
    ]


def test_without_ray_a_worker_is_told_its_rank() -> None:
    wanted = {**SETTINGS, "vllm_server_executor": "mp", "vllm_server_master_port": "29501"}
    wanted["vllm_server_tensor_parallel_size"] = 2
    assert parallel_arguments(PLAN, "node0", GPUS, wanted, host="node1")[6:] == [
        *("--nnodes", "2", "--node-rank", "1"),
        *("--master-addr", "192.0.2.10", "--master-port", "29501", "--headless"),
    ]
