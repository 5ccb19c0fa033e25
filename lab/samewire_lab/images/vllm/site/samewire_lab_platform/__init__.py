# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""vLLM platform plugin of the lab: a CPU that Ray schedules like a GPU."""


def register() -> str:
    """Name the platform class; vLLM imports it when it resolves its platform."""
    return "samewire_lab_platform.cpu.RayCpuPlatform"
