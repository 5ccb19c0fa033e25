# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the containers of Ray lack, and what failed, in sentences."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _gates


def seen(gpus: int, *, mig: bool = False, reason: str | None = None) -> dict[str, Any]:
    return {"stdout": json.dumps({"gpus": gpus, "mig": mig, "reason": reason}) + "\n", "stderr": ""}


@pytest.mark.parametrize("result", [seen(2), seen(8), seen(1, mig=True)])
def test_enough_gpus(result: dict[str, Any]) -> None:
    assert _gates.visible_gpu_problems(result, "node0", 2) == []


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (
            seen(1),
            "node0: the Ray container sees 1 GPUs, expected 2; try nvidia-smi on node0, install the NVIDIA "
            "container toolkit, or choose another ray_node_gpu_access",
        ),
        (
            seen(0, reason="NVML says: Unknown Error"),
            "node0: the Ray container sees 0 GPUs, expected 2 (NVML says: Unknown Error); try nvidia-smi on "
            "node0, install the NVIDIA container toolkit, or choose another ray_node_gpu_access",
        ),
        (
            {"rc": 127, "stdout": "", "stderr": "a\nsh: not found\n"},
            "node0: the GPUs inside the Ray container cannot be counted (sh: not found), expected 2; look at "
            "docker logs on node0",
        ),
        (
            {},
            "node0: the GPUs inside the Ray container cannot be counted (it printed nothing), expected 2; "
            "look at docker logs on node0",
        ),
    ],
)
def test_gpus_that_are_not_seen(result: dict[str, Any], problem: str) -> None:
    assert _gates.visible_gpu_problems(result, "node0", 2) == [problem]


PLAN = {"hosts": {"node0": {"address": "10.0.0.1"}, "node1": {"address": "10.0.0.12"}}}


def test_nodes_are_called_by_their_hosts() -> None:
    waited = {
        "stderr": "samewire: box: the nodes of Ray are not the planned ones after 9 s: 10.0.0.12 has not "
        "joined; 10.0.0.121 is not in the plan; look at the logs of the Ray containers\n"
    }
    assert _gates.nodes_problem(waited, PLAN, "node0") == (
        "node0: the nodes of Ray are not the planned ones after 9 s: node1 (10.0.0.12) has not joined; "
        "10.0.0.121 is not in the plan; look at the logs of the Ray containers"
    )


def test_nodes_that_cannot_be_listed() -> None:
    assert _gates.nodes_problem({}, PLAN, "node0") == "node0: the nodes of Ray cannot be listed"


def test_what_failed() -> None:
    variables: dict[str, dict[str, Any]] = {
        "a": {},
        "b": {
            "ansible_failed_task": {"name": "samewire.vllm.ray_node : Run the Ray container"},
            "ansible_failed_result": {"msg": "boom"},
        },
        "c": {
            "ansible_failed_task": {"name": "Keep"},
            "ansible_failed_result": {"censored": "hidden", "msg": "a secret"},
        },
        "d": {
            "ansible_failed_task": {"name": "Loop"},
            "ansible_failed_result": {
                "msg": "One or more items failed",
                "results": [
                    {"failed": False, "msg": "fine"},
                    {"failed": True, "msg": "non-zero", "rc": 1, "stderr": "x\nwhy\n"},
                ],
            },
        },
    }
    assert _gates.run_failures(variables, ["a", "b", "c", "d"]) == [
        {"host": "b", "task": "Run the Ray container", "message": "boom"},
        {"host": "c", "task": "Keep", "message": "its output is hidden, since it holds a secret"},
        {"host": "d", "task": "Loop", "message": "non-zero: why"},
    ]
