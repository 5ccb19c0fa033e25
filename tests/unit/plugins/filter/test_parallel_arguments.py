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
        *("--tensor-parallel-size", "1"),
        *("--pipeline-parallel-size", "1"),
    ]


def test_a_replica_on_each_host() -> None:
    wanted = {**SETTINGS, "vllm_server_data_parallel_size": "2"}
    assert parallel_arguments(PLAN, "node0", GPUS, wanted)[4:] == [
        *("--data-parallel-size", "2"),
        *("--data-parallel-size-local", "1"),
        *("--data-parallel-backend", "ray"),
        *("--data-parallel-address", "192.0.2.10"),
    ]
