# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Judge what was observed in the containers of Ray, before vLLM starts, and read what failed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any


def visible_gpu_problems(
    seen: Mapping[str, Any], host: str, announced: int, part: str = "ray"
) -> list[str]:
    """Return why a container does not see the GPUs that its node announces.

    seen: the result of running visible_gpus.py in it: rc, stdout, stderr; part: which container it is.
    """
    name = {"ray": "Ray", "vllm": "vLLM"}[part]
    try:
        found = json.loads(str(seen.get("stdout", "")).strip().splitlines()[-1])
    except (ValueError, IndexError):
        detail = _last_line(seen) or "it printed nothing"
        return [
            f"{host}: the GPUs inside the {name} container cannot be counted ({detail}), expected "
            f"{announced}; look at docker logs on {host}"
        ]
    # An instance of a GPU that is cut counts for Ray, not for NVML.
    if found["gpus"] >= announced or found["mig"]:
        return []
    detail = f" ({found['reason']})" if found["reason"] else ""
    return [
        f"{host}: the {name} container sees {found['gpus']} GPUs, expected {announced}{detail}; try "
        f"nvidia-smi on {host}, install the NVIDIA container toolkit, or choose another ray_node_gpu_access"
    ]


def nodes_problem(waited: Mapping[str, Any], plan: Mapping[str, Any], host: str) -> str:
    """Return the sentence for a Ray that has other nodes than the planned ones.

    waited: the result of running cluster_nodes.py in the head's container; host: name of the head.
    """
    said = (
        re.sub(r"^samewire: \S+: ", "", _last_line(waited)) or "the nodes of Ray cannot be listed"
    )
    for name, each in sorted(plan["hosts"].items()):
        said = re.sub(
            rf"(?<![\w.:]){re.escape(each['address'])}(?![\w.:])",
            f"{name} ({each['address']})",
            said,
        )
    return f"{host}: {said}"


def run_failures(
    variables: Mapping[str, Mapping[str, Any]], hosts: list[str]
) -> list[dict[str, str]]:
    """Return host, task and message of what failed in a block that is being rescued.

    variables: of each host, where Ansible leaves ansible_failed_result and ansible_failed_task.
    """
    failures = []
    for host in hosts:
        result = variables[host].get("ansible_failed_result")
        if not result:
            continue
        task = str((variables[host].get("ansible_failed_task") or {}).get("name", ""))
        failures.append(
            {"host": host, "task": task.rpartition(" : ")[2], "message": _message(result)}
        )
    return failures


def _message(result: Mapping[str, Any]) -> str:
    if "censored" in result:
        return "its output is hidden, since it holds a secret"
    parts = [item for item in result.get("results") or [] if item.get("failed")] or [result]
    said = []
    for part in parts:
        message = part.get("msg", "")
        lines = [str(each) for each in message] if isinstance(message, list) else [str(message)]
        # A command's own last line says more than Ansible's "non-zero return code".
        said.append("\n".join(lines) + (f": {_last_line(part)}" if "rc" in part else ""))
    return "\n".join(dict.fromkeys(said)) or "failed"


def _last_line(result: Mapping[str, Any]) -> str:
    for stream in ("stderr", "stdout", "msg"):
        lines = str(result.get(stream) or "").strip().splitlines()
        if lines:
            return lines[-1].strip()
    return ""
