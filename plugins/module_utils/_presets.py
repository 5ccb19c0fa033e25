# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Presets for hardware: what Ray and vLLM are told where the user says nothing.

A preset holds only what differs from the defaults of Ray and vLLM, each with its source. None sets anything
of NCCL: the plan gives it its devices, and it asks the GPU itself whether GPUDirect RDMA works, which on a
DGX Spark it does not (https://docs.nvidia.com/dgx/dgx-spark-porting-guide/porting/cuda.html).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _fit

_GIB = 1 << 30
AUTO = "auto"


@dataclass(frozen=True)
class Preset:
    """What one kind of hardware needs; None leaves it to Ray or vLLM.

    utilisation: part of the GPU's memory for vLLM; object_store: bytes of Ray's; shm: bytes that /dev/shm
    must have; environment: of the containers; drop_page_cache: before Ray starts; sources: by name of the
    figure.
    """

    utilisation: float | None = None
    object_store: int | None = None
    shm: int = _GIB
    environment: Mapping[str, str] = field(default_factory=dict)
    drop_page_cache: bool = False
    sources: Mapping[str, str] = field(default_factory=dict)


# vLLM sends small objects through Ray's store; Ray's own default is 30 % of the memory, at most 200 GB.
_STORE = "https://docs.ray.io/en/latest/ray-core/scheduling/memory-management.html"
_PLAYBOOK = "https://github.com/NVIDIA/dgx-spark-playbooks/blob/main/nvidia/vllm/README.md"

PRESETS: Mapping[str, Preset] = {
    "dgx-spark": Preset(
        # CUDA counts what the page cache holds as taken, so vLLM's default is not to be had.
        utilisation=0.85,
        object_store=2 * _GIB,
        shm=3 * _GIB,
        # It counts what the GPU holds as the workers' own, and kills them at 95 % of the memory.
        environment={"RAY_memory_monitor_refresh_ms": "0"},
        drop_page_cache=True,
        sources={
            "utilisation": "https://github.com/vllm-project/vllm/issues/35313",
            "object_store": _STORE,
            "shm": "the object store lies in it, and 1 GiB more",
            "environment": _PLAYBOOK,
            "drop_page_cache": _PLAYBOOK,
        },
    ),
    "hgx-h100": Preset(
        object_store=10 * _GIB,
        shm=11 * _GIB,
        sources={
            "object_store": _STORE,
            "shm": "the object store lies in it, and 1 GiB more",
        },
    ),
    "generic": Preset(),
}


@dataclass(frozen=True)
class Choice:
    """The preset of one host, and why."""

    name: str
    because: str

    @property
    def preset(self) -> Preset:
        """What it sets."""
        return PRESETS[self.name]


def choose(asked: str, gpus: Sequence[Mapping[str, Any]] | None) -> Choice:
    """Return the preset of a host; asked: hardware_preset; gpus: as module node_info found them."""
    if asked != AUTO:
        return Choice(asked, "hardware_preset says so")
    for gpu in gpus or ():
        if gpu["shared"]:
            return Choice("dgx-spark", f"CPU and GPU share one memory ({gpu['name']})")
    large = [gpu for gpu in gpus or () if "H100" in gpu["name"] or "H200" in gpu["name"]]
    if len(large) >= 8:
        return Choice("hgx-h100", f"it has {len(large)} GPUs {large[0]['name']}")
    return Choice("generic", "no other preset is meant for its GPUs")


def ray_arguments(preset: Preset, own: Sequence[str]) -> list[str]:
    """Return the arguments of `ray start` that a preset adds to the user's own."""
    if preset.object_store is None or "object-store-memory" in _fit.options(own):
        return []
    return [f"--object-store-memory={preset.object_store}"]


def vllm_arguments(preset: Preset, own: Sequence[str]) -> list[str]:
    """Return the arguments of `vllm serve` that a preset adds to the user's own."""
    if preset.utilisation is None or "gpu-memory-utilization" in _fit.options(own):
        return []
    return [f"--gpu-memory-utilization={preset.utilisation}"]


def environment(preset: Preset, own: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables of the containers that a preset adds to the user's own."""
    return {name: value for name, value in preset.environment.items() if name not in own}


def deployment(
    settings: Mapping[str, Mapping[str, Any]], head: str, nodes: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return what the presets add, by host, the settings with it, and notes for people.

    settings: the variables of each host, with defaults; nodes: what module node_info found.
    """
    hosts: dict[str, Any] = {}
    completed = {}
    for host, own in sorted(settings.items()):
        choice = choose(own["hardware_preset"], nodes[host]["gpus"]["found"])
        preset = choice.preset
        role = "ray_head_extra_args" if host == head else "ray_worker_extra_args"
        ray_args = ray_arguments(preset, [*own["ray_node_extra_args"], *own[role]])
        vllm_args = vllm_arguments(preset, own["vllm_server_extra_args"]) if host == head else []
        hosts[host] = {
            "preset": choice.name,
            "because": choice.because,
            "ray_args": ray_args,
            "vllm_args": vllm_args,
            "environment": environment(preset, own["ray_node_environment"]),
            "shm": preset.shm,
            "drop_page_cache": own.get("hardware_drop_page_cache", preset.drop_page_cache),
        }
        completed[host] = {
            **own,
            "ray_node_extra_args": [*ray_args, *own["ray_node_extra_args"]],
            "vllm_server_extra_args": [*vllm_args, *own["vllm_server_extra_args"]],
        }
    return {"hosts": hosts, "settings": completed, "notes": _notes(hosts)}


def _notes(hosts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return what the presets add, a line for hosts that are told the same, none where nothing is added."""
    alike: dict[str, list[str]] = {}
    for host, own in hosts.items():
        added = [
            *own["ray_args"],
            *own["vllm_args"],
            *(f"{name}={value}" for name, value in own["environment"].items()),
            *(["the page cache is dropped before Ray starts"] if own["drop_page_cache"] else []),
        ]
        if added:
            line = f"preset {own['preset']}, since {own['because']}: {', '.join(added)}"
            alike.setdefault(line, []).append(host)
    return [f"{', '.join(names)}: {line}" for line, names in alike.items()]
