# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Judge whether the containers of a cluster may be started, stopped or removed, before any is touched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _parts, _status

STARTED, STOPPED, ABSENT = GOALS = ("started", "stopped", "absent")


def lifecycle_problems(
    nodes: Mapping[str, Mapping[str, Any]], cluster: str, head: str, goal: str
) -> list[str]:
    """Return a sentence for each reason against it; nodes: as the module cluster_status returns them."""
    problems = []
    executor = _parts.deployed(nodes, head)
    for host, node in sorted(nodes.items()):
        reason = node["docker"]["reason"]
        if reason:
            problems.append(
                f"{host}: Docker does not answer ({reason}), expected an engine; start it"
            )
            continue
        parts = _parts.parts(executor, is_head=host == head)
        for part, container in node["containers"].items():
            name = f"{cluster}-{part}"
            if container is not None and not container["own"]:
                problems.append(_status.foreign(host, name, cluster, container["label"]))
            elif container is None and goal == STARTED and part in parts:
                problems.append(
                    f"{host}: has no container {name}, expected the one of a deployment; run samewire deploy "
                    "(or the playbook samewire.vllm.deploy) first"
                )
    return problems
