# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the module cluster_status sees of a healthy pair, for the tests of what judges it."""

from __future__ import annotations

from typing import Any

DIGEST = "sha256:c4b8"
ADDRESSES = {"spark0": "192.168.200.12", "spark1": "192.168.200.13"}
INTERFACES = {"spark0": "enp1s0f0np0", "spark1": "enp1s0f1np1"}


def container(**more: Any) -> dict[str, Any]:
    """Return a container of the cluster that has been running for two minutes."""
    return {
        "id": "f00",
        "own": True,
        "label": "pair",
        "status": "running",
        "health": None,
        "exit_code": 0,
        "restarts": 0,
        "gave_up": False,
        "pause": None,
        "started_at": "2026-11-30T13:00:00Z",
        "age": 125.0,
        "image": "vllm/vllm-openai:v0.32.0",
        "digests": [DIGEST],
        "environment_differs": [],
        **more,
    }


def server(**more: Any) -> dict[str, Any]:
    """Return a server that has answered nine requests."""
    return {
        "healthy": True,
        "answer": "status 200",
        "models": ["tiny"],
        "running": 1.0,
        "waiting": 0.0,
        "requests": 9.0,
        "prompt_tokens": 45.0,
        "generation_tokens": 144.0,
        "kv_cache_usage": 0.25,
        "last_request": {"at": "2026-11-30T13:01:59Z", "status": 200},
        "progress": "ready",
        **more,
    }


STARTING = server(
    healthy=False, answer="Connection refused", models=[], progress="loading weights 1/2"
)


def node(host: str, **more: Any) -> dict[str, Any]:
    """Return what is seen of spark0, the head, or of spark1."""
    head = host == "spark0"
    return {
        "docker": {"version": "20.10.24", "reason": None},
        "containers": {"ray": container(), "vllm": container() if head else None},
        "kept": [],
        "addresses": {"lo": ["127.0.0.1"], INTERFACES[host]: [ADDRESSES[host]]},
        "gpus": {
            "list": [
                {"index": 0, "name": "H100", "memory_used_mib": 1024, "memory_total_mib": 81559}
            ],
            "reason": None,
        },
        "directory": {"exists": True, "foreign": False},
        "firewall": None,
        "members": sorted(ADDRESSES.values()) if head else None,
        "server": server() if head else None,
        **more,
    }


RECORD = {
    "schema": "samewire.record/1",
    "url": "http://10.1.230.180:8000",
    "model": "tiny",
    "image": {"reference": "vllm/vllm-openai:v0.32.0", "digest": DIGEST},
    "versions": {"ray": "2.60.0"},
    "network": "192.168.200.0/24",
    "proven_at": "2026-11-30T12:00:00Z",
}
