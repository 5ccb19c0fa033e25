# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The desired state of an inventory, judged by the roles' own argument specs."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.filter.desired_state import desired_state

GOOD = {"container_image_name": "vllm:1", "vllm_server_model": "/models/tiny"}
REQUIRED = ["container_image_name", "vllm_server_model"]


def state(**changes: Any) -> dict[str, Any]:
    variables = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
    return desired_state({"node0": variables}, ["node0"], [], REQUIRED)


def test_defaults_complete_what_the_inventory_says() -> None:
    found = state(vllm_server_tensor_parallel_size="2")
    assert found["problems"] == []
    own = found["settings"]["node0"]
    assert own["vllm_server_tensor_parallel_size"] == 2
    assert own["vllm_server_port"] == 8000
    assert own["cluster_name"] == "samewire"


def test_secrets_are_not_handed_on() -> None:
    found = state(vllm_server_api_key="very-secret", ray_node_auth_token="also-secret")
    assert found["problems"] == []
    assert "secret" not in str(found["settings"])


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"vllm_server_model": None},
            "node0: variable vllm_server_model is not set, expected: The model, a hub id or an absolute "
            "path that exists on at least one host; set it in the inventory's group_vars",
        ),
        (
            {"vllm_server_tensor_parallel_size": "two"},
            "node0: variable vllm_server_tensor_parallel_size is 'two', expected int; correct it in the "
            "inventory",
        ),
        (
            {"ray_node_gpu_access": "nvidia"},
            "node0: variable ray_node_gpu_access is 'nvidia', expected one of auto, device_request, "
            "runtime, cdi, none; correct it in the inventory",
        ),
        (
            {"vllm_server_api_key": {"a": [1]}},
            "node0: variable vllm_server_api_key is '(a secret)', expected printable ASCII without spaces, "
            "as a header of HTTP can carry it; correct it in the inventory",
        ),
        (
            {"vllm_server_metrics_clients": ["10.0.0.0/8", "prometheus"]},
            "node0: variable vllm_server_metrics_clients is ['10.0.0.0/8', 'prometheus'], expected "
            "addresses or networks, as 10.1.2.3 or 10.0.0.0/8; correct it in the inventory",
        ),
        (
            {"cluster_name": "my cluster"},
            "node0: variable cluster_name is 'my cluster', expected a letter or a digit, then letters, "
            "digits, '_', '.' and '-', at most 63 in all; correct it in the inventory",
        ),
        (
            {"vllm_server_extra_args": {"a": 1}},
            "node0: variable vllm_server_extra_args is {'a': 1}, expected list of str; correct it in the "
            "inventory",
        ),
        (
            {"vllm_server_modle_path": "/x"},
            "node0: variable vllm_server_modle_path is not known; did you mean vllm_server_model? Correct "
            "the name in the inventory",
        ),
    ],
)
def test_mistakes(changes: dict[str, Any], problem: str) -> None:
    found = state(**changes)
    assert found["problems"] == [problem]
    assert found["settings"]["node0"] == {}


def test_two_heads() -> None:
    found = desired_state({"a": GOOD, "b": GOOD}, ["a", "b"], [], REQUIRED)
    assert found["problems"] == [
        "group ray_head has 2 hosts (a, b): expected one; keep a and move b to ray_workers"
    ]
