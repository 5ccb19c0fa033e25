# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Each mistake in an inventory is one sentence that names the host and the cure."""

from __future__ import annotations

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _desired_state

KNOWN = ["vllm_server_model", "vllm_server_tensor_parallel_size", "ray_node_gpus", "cluster_name"]
PREFIXES = ["vllm_server_", "ray_node_"]


@pytest.mark.parametrize(
    ("heads", "workers", "problems"),
    [
        (["a"], ["b"], []),
        (["a"], [], []),
        (
            [],
            [],
            [
                "the inventory names no host: expected one host in group ray_head and the others in "
                "ray_workers, got none; add them to hosts.yml (and name the inventory with -i)"
            ],
        ),
        (
            [],
            ["b", "a"],
            [
                "group ray_head is empty: expected one host, got none; move one of a, b from "
                "ray_workers to ray_head"
            ],
        ),
        (
            ["a", "b"],
            ["c"],
            [
                "group ray_head has 2 hosts (a, b): expected one; keep a and move b to ray_workers",
            ],
        ),
        (
            ["a"],
            ["a", "b"],
            [
                "a: is in ray_head and in ray_workers, expected one of them; remove it from "
                "ray_workers (the head's GPUs count without that)"
            ],
        ),
    ],
)
def test_roles_of_the_hosts(heads: list[str], workers: list[str], problems: list[str]) -> None:
    assert _desired_state.shape_problems(heads, workers) == problems


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("vllm_server_model", None),
        ("ansible_user", None),
        ("cluster_domain", None),
        ("model", None),
        (
            "vllm_server_tensor_parallel_sze",
            "a: variable vllm_server_tensor_parallel_sze is not known; did you mean "
            "vllm_server_tensor_parallel_size? Correct the name in the inventory",
        ),
        (
            "vlm_server_model",
            "a: variable vlm_server_model is not known; did you mean vllm_server_model? "
            "Correct the name in the inventory",
        ),
        (
            "ray_node_zzzzzzzzzzzzzzzzzzzzz",
            "a: variable ray_node_zzzzzzzzzzzzzzzzzzzzz is not known to any role; remove it from the "
            "inventory (ansible-doc -t role -l samewire.vllm lists what there is)",
        ),
    ],
)
def test_names_of_variables(name: str, problem: str | None) -> None:
    found = _desired_state.unknown_variables("a", [name], KNOWN, PREFIXES)
    assert found == ([problem] if problem else [])


def test_values() -> None:
    assert _desired_state.missing_variable("a", "vllm_server_model", "The model") == (
        "a: variable vllm_server_model is not set, expected: The model; "
        "set it in the inventory's group_vars"
    )
    assert _desired_state.wrong_type("a", "ray_node_gpus", "two", "int") == (
        "a: variable ray_node_gpus is 'two', expected int; correct it in the inventory"
    )
