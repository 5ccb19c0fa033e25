# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the container decides from the nodes that Ray names."""

from __future__ import annotations

import importlib.util
import pathlib
import subprocess
import sys
import types
from typing import Any

import pytest

SCRIPT = pathlib.Path(__file__).parents[3] / "roles/ray_node/files/node/cluster_nodes.py"


@pytest.fixture(scope="module")
def script() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("cluster_nodes", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def node(address: str, gpus: float | None, alive: bool = True) -> dict[str, Any]:
    resources = {"CPU": 2.0, f"node:{address}": 1.0} | ({} if gpus is None else {"GPU": gpus})
    return {"NodeManagerAddress": address, "Alive": alive, "Resources": resources}


def test_only_nodes_that_are_alive_count(script: types.ModuleType) -> None:
    nodes = [node("10.0.0.1", 1.0), node("10.0.0.2", None), node("10.0.0.2", 4.0, alive=False)]
    assert script.alive(nodes) == {"10.0.0.1": 1, "10.0.0.2": 0}


def test_expected_addresses_may_hold_colons(script: types.ModuleType) -> None:
    assert script.parse_expected("fd00::1=1,10.0.0.2=8") == {"fd00::1": 1, "10.0.0.2": 8}


@pytest.mark.parametrize(
    ("got", "clauses"),
    [
        ({"a": 1, "b": 1}, []),
        ({"a": 1}, ["b has not joined"]),
        ({"a": 1, "b": 0}, ["b has 0 GPUs, expected 1"]),
        ({"a": 1, "b": 1, "c": 1}, ["c is not in the plan"]),
        ({"c": 1}, ["a has not joined", "b has not joined", "c is not in the plan"]),
    ],
)
def test_differences(script: types.ModuleType, got: dict[str, int], clauses: list[str]) -> None:
    nodes = [node(address, gpus) for address, gpus in got.items()]
    assert script.differences({"a": 1, "b": 1}, nodes) == clauses


def test_a_node_that_vllm_cannot_ask_for_by_address(script: types.ModuleType) -> None:
    nodes = [node("fd00::1", 1), node("fd00::2", 1)]
    del nodes[1]["Resources"]["node:fd00::2"]
    expected = {"fd00::1": 1, "fd00::2": 1}
    assert script.differences(expected, nodes) == ["fd00::2 has no resource node:fd00::2"]


def test_usage_without_a_command() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
