# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Each parallel shape on two hosts, with each executor, answers as one host does, or is refused at once."""

from __future__ import annotations

import json

import pytest

from samewire_lab import spec
from tests.lab.driver import CLUSTER, INVENTORY, samewire
from tests.lab.shell import on

# The CPU build does not run a pipeline eagerly.
COMPILED = ["--no-enforce-eager", "--compilation-config", '{"mode":2,"backend":"eager"}']
SHAPES = {
    "tensor 2": {"tensor": 2},
    "pipeline 2": {"pipeline": 2},
    "tensor 2 x pipeline 2": {"tensor": 2, "pipeline": 2},
    "data 2": {"data": 2},
}
EXECUTORS = {
    "ray": {"vllm_server_executor": "ray"},
    "ray, its old executor": {
        "vllm_server_executor": "ray",
        "ray_node_environment": {
            "VLLM_USE_RAY_V2_EXECUTOR_BACKEND": "0",
            # Its pipeline goes over CUDA streams unless told otherwise.
            "VLLM_USE_RAY_COMPILED_DAG_CHANNEL_TYPE": "shm",
        },
    },
    "mp": {"vllm_server_executor": "mp"},
}

pytestmark = pytest.mark.heals


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("shape", SHAPES)
def test_it_answers_as_one_host_does(shape: str, executor: str) -> None:
    reference = json.loads(on("node0").read(f"cat {spec.MODEL_PATH}/reference.json"))
    sizes = {"tensor": 1, "pipeline": 1, "data": 1, **SHAPES[shape]}
    extra = ["--max-model-len=256"]
    if sizes["pipeline"] > 1:
        extra += COMPILED
    else:
        extra += ["--enforce-eager"]
    variables = {
        **EXECUTORS[executor],
        **{f"vllm_server_{name}_parallel_size": size for name, size in sizes.items()},
        "vllm_server_extra_args": extra,
        "ray_node_gpus": sizes["tensor"] * sizes["pipeline"] * sizes["data"] // 2,
        "proof_prompt": reference["prompt"],
        "proof_max_tokens": reference["max_tokens"],
    }
    done = samewire("deploy", "-i", INVENTORY, "-e", json.dumps(variables))
    if executor == "mp" and variables["ray_node_gpus"] > 1:
        assert done.returncode == 1
        assert "whose build for the processor takes one on each without Ray" in done.stdout
        return
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((CLUSTER / "record.json").read_text())
    assert found["completion"]["text"] == reference["text"]
