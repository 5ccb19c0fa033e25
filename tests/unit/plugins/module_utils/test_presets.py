# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Which preset a host gets, and that what the user says wins."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.samewire.vllm.plugins.module_utils import _presets

ROOT = Path(__file__).parents[4]
SPARK = {"name": "NVIDIA GB10", "memory": 128 << 30, "capability": 12.1, "shared": True}
H100 = {"name": "NVIDIA H100 80GB HBM3", "memory": 80 << 30, "capability": 9.0, "shared": False}
L4 = {"name": "NVIDIA L4", "memory": 24 << 30, "capability": 8.9, "shared": False}


def settings(*hosts: str, **changes: Any) -> dict[str, dict[str, Any]]:
    own = {
        "hardware_preset": "auto",
        "ray_node_extra_args": [],
        "ray_head_extra_args": [],
        "ray_worker_extra_args": [],
        "ray_node_environment": {},
        "vllm_server_extra_args": [],
        **changes,
    }
    return {host: dict(own) for host in hosts}


def nodes(**gpus: Any) -> dict[str, Any]:
    return {host: {"gpus": {"found": found, "reason": None}} for host, found in gpus.items()}


@pytest.mark.parametrize(
    ("gpus", "name", "because"),
    [
        ([SPARK], "dgx-spark", "CPU and GPU share one memory (NVIDIA GB10)"),
        ([H100] * 8, "hgx-h100", "it has 8 GPUs NVIDIA H100 80GB HBM3"),
        ([H100] * 4, "generic", "no other preset is meant for its GPUs"),
        ([L4], "generic", "no other preset is meant for its GPUs"),
        ([], "generic", "no other preset is meant for its GPUs"),
        (None, "generic", "no other preset is meant for its GPUs"),
    ],
)
def test_a_preset_by_the_gpus(gpus: Any, name: str, because: str) -> None:
    assert _presets.choose("auto", gpus) == _presets.Choice(name, because)
    assert _presets.choose("hgx-h100", gpus).name == "hgx-h100"


def test_two_sparks() -> None:
    found = _presets.deployment(
        settings("spark0", "spark1"), "spark0", nodes(spark0=[SPARK], spark1=[SPARK])
    )
    head, worker = found["hosts"]["spark0"], found["hosts"]["spark1"]
    assert head == {
        "preset": "dgx-spark",
        "because": "CPU and GPU share one memory (NVIDIA GB10)",
        "ray_args": ["--object-store-memory=2147483648"],
        "vllm_args": ["--gpu-memory-utilization=0.85"],
        "environment": {"RAY_memory_monitor_refresh_ms": "0"},
        "shm": 3 << 30,
        "drop_page_cache": True,
    }
    assert worker == {**head, "vllm_args": []}
    added = found["settings"]["spark0"]
    assert added["ray_node_extra_args"] == head["ray_args"]
    assert added["vllm_server_extra_args"] == head["vllm_args"]
    assert found["notes"][1] == (
        "spark1: preset dgx-spark, since CPU and GPU share one memory (NVIDIA GB10): "
        "--object-store-memory=2147483648, RAY_memory_monitor_refresh_ms=0, the page cache is dropped before "
        "Ray starts"
    )


@pytest.mark.parametrize(
    ("changes", "left"),
    [
        ({"ray_node_extra_args": ["--object-store-memory", "9"]}, "ray_args"),
        ({"ray_head_extra_args": ["--object-store-memory=9"]}, "ray_args"),
        ({"vllm_server_extra_args": ["--gpu-memory-utilization=0.5"]}, "vllm_args"),
        ({"vllm_server_extra_args": ["--gpu_memory_utilization", "0.5"]}, "vllm_args"),
        ({"ray_node_environment": {"RAY_memory_monitor_refresh_ms": 250}}, "environment"),
        ({"hardware_drop_page_cache": False}, "drop_page_cache"),
    ],
)
def test_what_the_user_says_wins(changes: dict[str, Any], left: str) -> None:
    plain, changed = (
        _presets.deployment(settings("s", **each), "s", nodes(s=[SPARK]))["hosts"]["s"]
        for each in ({}, changes)
    )
    assert plain[left]
    assert not changed[left]
    assert {**plain, left: None} == {**changed, left: None}


def test_where_nothing_is_added_nothing_is_said() -> None:
    found = _presets.deployment(settings("a", "b"), "a", nodes(a=[L4], b=None))
    assert found["notes"] == []
    assert found["settings"] == settings("a", "b")


def test_hosts_that_are_told_the_same_share_a_line() -> None:
    found = _presets.deployment(
        settings("a", "b", "c"), "a", nodes(a=[H100] * 8, b=[H100] * 8, c=[L4])
    )
    assert found["notes"] == [
        "a, b: preset hgx-h100, since it has 8 GPUs NVIDIA H100 80GB HBM3: --object-store-memory=10737418240"
    ]


@pytest.mark.parametrize("name", _presets.PRESETS)
def test_every_figure_has_its_source(name: str) -> None:
    preset, plain = _presets.PRESETS[name], _presets.Preset()
    told = {
        each.name
        for each in fields(preset)
        if each.name != "sources" and getattr(preset, each.name) != getattr(plain, each.name)
    }
    assert told == set(preset.sources)


def test_the_presets_are_those_that_the_role_knows() -> None:
    text = (ROOT / "roles/hardware/meta/argument_specs.yml").read_text(encoding="utf-8")
    options = yaml.safe_load(text)["argument_specs"]["main"]["options"]
    assert options["hardware_preset"]["choices"] == [_presets.AUTO, *_presets.PRESETS]
