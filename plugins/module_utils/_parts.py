# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Which containers a host has: a function of what spreads vLLM over the hosts, and of whether it is the head.

With Ray every host has a node of Ray, and the head a server on top of it. Without, every host has a part of
the server, and these begin and end together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RAY, MP = EXECUTORS = ("ray", "mp")
AUTO = "auto"

# In the order in which they start; the name of a container is that of the cluster and its part.
PARTS = ("ray", "vllm")


def parts(executor: str, *, is_head: bool) -> tuple[str, ...]:
    """Return the parts of a host, in the order in which they start."""
    if executor == MP:
        return ("vllm",)
    return PARTS if is_head else ("ray",)


def deployed(nodes: Mapping[str, Mapping[str, Any]], head: str) -> str:
    """Return the executor of the containers that are there, that of Ray where nothing is known.

    nodes: what was seen of each host, as the module cluster_status returns it.
    """
    server = (nodes.get(head, {}).get("containers") or {}).get("vllm") or {}
    return str(server.get("executor") or RAY)


def lead_port(master_port: int) -> int:
    """Return where the head's part waits for those of the other hosts; the master port is vLLM's own."""
    return master_port + 1


def ports(master_port: int, *, replicas: int) -> dict[int, str]:
    """Return the ports on the head of a server without Ray, with their purpose."""
    found = {
        master_port: "vLLM's rendezvous of the ranks",
        lead_port(master_port): "the parts of vLLM on the other hosts",
    }
    return found | ({data_port(master_port): "vLLM's replicas"} if replicas > 1 else {})


def data_port(master_port: int) -> int:
    """Return where the head greets the replicas of data parallel."""
    return master_port + 2


def chosen(wanted: str, ray: str | None, known: bool, before: str) -> str:
    """Return the executor of a deployment.

    wanted: of EXECUTORS or AUTO; ray: release in the image, None where it has none; known: whether the image
    was asked; before: of the last deployment, empty where there was none.
    """
    if wanted != AUTO:
        return wanted
    if not known:
        return before or RAY
    return RAY if ray else MP


def note(wanted: str, executor: str, image: str) -> str:
    """Return the line that says with what vLLM will run, and why; empty where the user has said it."""
    if wanted != AUTO:
        return ""
    if executor == RAY:
        return (
            f"vLLM runs on Ray, which image {image} has; vllm_server_executor: mp would do without"
        )
    return (
        f"vLLM runs without Ray (executor mp), since image {image} has none; container_image_base would "
        "add it"
    )


def lacks_ray(image: str) -> str:
    """Return the sentence for an image without Ray where Ray is wanted."""
    return (
        f"image {image} has no Ray, expected it, since vllm_server_executor is ray; set that to mp, which "
        f"needs none, or set container_image_base: {image} and another container_image_name, as which "
        "the head will add Ray to it"
    )
