# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Which ports and weights are judged where."""

from __future__ import annotations

from typing import Any

from ansible_collections.samewire.vllm.plugins.filter import preflight_problems
from tests.unit.plugins.module_utils import test_preflight, test_weights

SETTINGS = {
    "container_image_base": "",
    "container_image_distribution": "auto",
    "vllm_server_model": "/models/tiny",
    "vllm_server_tensor_parallel_size": 1,
    "vllm_server_pipeline_parallel_size": 1,
    "vllm_server_data_parallel_size": 1,
    "vllm_server_expert_parallel": False,
    "vllm_server_extra_args": [],
    "model_weights_sync": True,
}
GPU = {"name": "NVIDIA T4", "memory": 15 << 30, "capability": 7.5, "shared": False}
CONFIG = {
    "hidden_size": 8192,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
}


def judged(nodes: dict[str, Any], sync: bool = True, base: str = "", **arguments: Any) -> list[str]:
    return preflight_problems.preflight_problems(
        nodes,
        head="node0",
        image="i",
        model="/models/tiny",
        settings={
            **SETTINGS,
            "container_image_base": base,
            "vllm_server_tensor_parallel_size": 2,
            "model_weights_sync": sync,
        },
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


def test_the_image_that_others_are_made_of_is_wanted_on_the_head_alone() -> None:
    absent = {"local": None, "registry": None, "reason": "no such host"}
    nodes = {name: test_preflight.node(image=absent) for name in ("node0", "node1")}
    assert judged(nodes, base="vllm:stock") == [
        "node0: image vllm:stock is neither on the host nor to be had from its registry (no such host); "
        "correct container_image_base, or log in with docker login on node0"
    ]
    nodes["node0"] = test_preflight.node()
    assert judged(nodes, base="vllm:stock") == []


def test_weights_are_judged_where_they_exist_and_unless_skipped() -> None:
    nodes = {
        "node0": test_preflight.node(),
        "node1": test_preflight.node(paths={"/models/tiny": False}),
    }
    cut = test_weights.own(broken={"model.safetensors": [5, 4]})
    weights = {"node0": cut, "node1": {"exists": False}}
    assert judged(nodes, sync=False, weights=weights) == [
        "node1: model path /models/tiny does not exist; expected the weights there on every host, copy "
        "them to node1 or correct vllm_server_model",
        "node0: /models/tiny/model.safetensors is damaged: expected 5 bytes by its header, got 4 bytes; copy "
        "it to node0 again",
    ]
    assert judged(nodes, sync=False, weights=weights, skip=["weights"]) == []


def test_a_deployment_that_brings_the_weights_judges_with_its_plan() -> None:
    nodes = {"node0": test_preflight.node(), "node1": test_preflight.node()}
    weights = {"node0": test_weights.own(), "node1": {"exists": False}}
    assert judged(nodes, weights=weights, transfer={"problems": []}) == []
    assert judged(nodes, weights=weights, transfer={"problems": ["no room"]}) == ["no room"]
    assert judged(nodes, transfer={"problems": ["no room"]}, skip=["weights"]) == []


def with_gpus(**changes: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return two hosts with a small GPU each, and what is known of a large model."""
    node = test_preflight.node(gpus={"found": [GPU], "reason": None})
    files = {
        "config.json": {"size": 2},
        "model.safetensors": {"size": 141_000_000_000},
    }
    model = {"files": files, "config": {**CONFIG, **changes}}
    return {"node0": node, "node1": node}, {"problems": [], "model": model}


def test_a_model_that_cannot_fit_is_refused_unless_skipped() -> None:
    nodes, transfer = with_gpus()
    said = judged(nodes, transfer=transfer)
    assert len(said) == 1
    assert said[0].startswith("node0: /models/tiny needs 75.8 GiB on each GPU ")
    assert judged(nodes, transfer=transfer, skip=["fit"]) == []


def test_a_quantisation_that_the_gpus_are_too_old_for() -> None:
    nodes, transfer = with_gpus(quantization_config={"quant_method": "mxfp4"})
    assert judged(nodes, transfer=transfer)[:2] == [
        f"{host}: the quantisation mxfp4 of /models/tiny needs compute capability 8.0 or newer, got 7.5 "
        "(NVIDIA T4); choose another checkpoint, or another GPU"
        for host in ("node0", "node1")
    ]


def test_a_size_that_cannot_be_is_said_alone() -> None:
    nodes, transfer = with_gpus(num_attention_heads=63)
    assert judged(nodes, transfer=transfer) == [
        "node0: tensor parallel 2 does not divide the 63 attention heads of unknown; set "
        "vllm_server_tensor_parallel_size to 1 or 3"
    ]
