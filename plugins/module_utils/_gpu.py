# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What nvidia-smi says of the GPUs of a host.

Source: `nvidia-smi --help-query-gpu`. A GPU that shares the memory of the CPU, as the GB10 of a DGX Spark,
has no memory of its own to tell: there CUDA sees that of the system.
"""

from __future__ import annotations

import re
from typing import Any

FIELDS = ("name", "memory.total", "compute_cap")


def parse(said: str, meminfo: str) -> list[dict[str, Any]]:
    """Return name, memory in bytes (None where it is not to be known), capability and shared of each GPU.

    said: values of FIELDS, a GPU a line, memory in MiB; meminfo: content of /proc/meminfo.
    """
    return [
        _gpu(*(value.strip() for value in line.rsplit(",", len(FIELDS) - 1)), meminfo=meminfo)
        for line in said.splitlines()
        if line.count(",") >= len(FIELDS) - 1
    ]


def _gpu(name: str, memory: str, capability: str, *, meminfo: str) -> dict[str, Any]:
    shared = memory.strip("[]") in ("N/A", "Not Supported")
    system = re.search(r"^MemTotal:\s+(\d+) kB", meminfo, re.MULTILINE)
    if shared:
        size = int(system[1]) << 10 if system else None
    else:
        size = int(memory) << 20 if memory.isdigit() else None
    return {
        "name": name,
        "memory": size,
        "capability": float(capability) if re.fullmatch(r"\d+\.\d+", capability) else None,
        "shared": shared,
    }
