# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What nvidia-smi prints becomes facts, also where it does not say a figure."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _gpu

MEMINFO = "MemTotal:       125508016 kB\nMemFree:        1 kB\n"


def gpu(name: str, memory: int | None, capability: float | None, shared: bool) -> dict[str, Any]:
    return {"name": name, "memory": memory, "capability": capability, "shared": shared}


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (
            "NVIDIA H100 80GB HBM3, 81559, 9.0\nNVIDIA H100 80GB HBM3, 81559, 9.0\n",
            [gpu("NVIDIA H100 80GB HBM3", 81559 << 20, 9.0, False)] * 2,
        ),
        ("NVIDIA GB10, [N/A], 12.1\n", [gpu("NVIDIA GB10", 125508016 << 10, 12.1, True)]),
        ("Old, with a comma, 11441, [N/A]\n", [gpu("Old, with a comma", 11441 << 20, None, False)]),
        ("Broken, [Unknown Error], 8.0\n", [gpu("Broken", None, 8.0, False)]),
        ("No devices were found\n", []),
    ],
)
def test_what_nvidia_smi_says(said: str, found: list[dict[str, Any]]) -> None:
    assert _gpu.parse(said, MEMINFO) == found


def test_a_shared_memory_that_the_system_does_not_tell() -> None:
    assert _gpu.parse("NVIDIA GB10, [N/A], 12.1", "") == [gpu("NVIDIA GB10", None, 12.1, True)]
