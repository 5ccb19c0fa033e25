# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What spreads vLLM over the hosts, why, and what stands against it."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.filter.executor_choice import executor_choice
from tests.unit.plugins.filter.test_preflight_problems import SETTINGS

WITH = {"python": "3.12.3", "ray": "2.60.0", "vllm": "0.32.0"}
WITHOUT = {**WITH, "ray": None}


def choice(
    wanted: str, versions: dict[str, Any], own: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    own = {
        **SETTINGS,
        "container_image_name": "vllm:1",
        "vllm_server_executor": wanted,
        "vllm_server_tensor_parallel_size": 2,
        **(own or {}),
    }
    settings = {"node0": own, "node1": own}
    return executor_choice(
        settings, "node0", **{"gpus": {"node0": "1", "node1": 1}, "versions": versions, **more}
    )


@pytest.mark.parametrize(
    ("wanted", "versions", "executor", "note"),
    [
        (
            "auto",
            WITH,
            "ray",
            "vLLM runs on Ray, which image vllm:1 has; vllm_server_executor: mp would do without",
        ),
        (
            "auto",
            WITHOUT,
            "mp",
            "vLLM runs without Ray (executor mp), since image vllm:1 has none; container_image_base "
            "would add it",
        ),
        ("mp", WITH, "mp", ""),
        ("auto", {}, "ray", ""),
    ],
)
def test_the_choice(wanted: str, versions: dict[str, Any], executor: str, note: str) -> None:
    assert choice(wanted, versions) == {"executor": executor, "note": note, "problems": []}


def test_what_the_last_deployment_took_counts_where_the_image_was_not_asked() -> None:
    assert choice("auto", {}, before="mp")["executor"] == "mp"


def test_ray_that_the_image_lacks_is_refused_with_both_cures() -> None:
    assert choice("ray", WITHOUT)["problems"] == [
        "image vllm:1 has no Ray, expected it, since vllm_server_executor is ray; set that to mp, which "
        "needs none, or set container_image_base: vllm:1 and another container_image_name, as which the head "
        "will add Ray to it"
    ]


def test_sizes_that_only_ray_can_spread() -> None:
    (said,) = choice("auto", WITHOUT, gpus={"node0": 1, "node1": 1, "node2": 1})["problems"]
    assert said == (
        "node0: tensor parallel 2 x pipeline parallel 1 has 2 ranks, which vLLM without Ray must spread "
        "evenly over all 3 hosts, whole replicas or equal parts of one, got node0: 1, node1: 1, node2: 1 "
        "GPUs; change vllm_server_tensor_parallel_size or vllm_server_pipeline_parallel_size, take hosts "
        "out of ray_workers, or set vllm_server_executor: ray"
    )


def test_ranks_of_one_host_that_a_build_for_the_processor_cannot_join() -> None:
    versions, gpus = {**WITHOUT, "vllm": "0.32.0+cpu"}, {"node0": 2, "node1": 2}
    assert choice("mp", versions)["problems"] == []
    assert choice("mp", versions, gpus=gpus)["problems"] == []
    wanted = {"vllm_server_pipeline_parallel_size": 2}
    assert choice("ray", {**versions, **WITH}, gpus=gpus, own=wanted)["problems"] == []
    assert choice("mp", WITHOUT, gpus=gpus, own=wanted)["problems"] == []
    assert choice("mp", versions, gpus=gpus, own=wanted)["problems"] == [
        "node0: tensor parallel 2 x pipeline parallel 2 puts 2 ranks of one replica on each host, got vLLM "
        "0.32.0+cpu, whose build for the processor takes one on each without Ray; change "
        "vllm_server_tensor_parallel_size or vllm_server_pipeline_parallel_size, or set "
        "vllm_server_executor: ray"
    ]
