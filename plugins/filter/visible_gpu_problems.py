# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: what a container sees of its GPUs to what is wrong with it."""

from __future__ import annotations

DOCUMENTATION = r"""
name: visible_gpu_problems
short_description: Judge whether a container sees the GPUs that its node announces
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Compares the GPUs inside the container with those that the node announces to Ray.
positional: host, announced
options:
  _input:
    description: The result of running C(visible_gpus.py) in the container.
    type: dict
    required: true
  host:
    description: Name of the host.
    type: str
    required: true
  announced:
    description: GPUs that the node announces.
    type: int
    required: true
  part:
    description: Which container it is.
    type: str
    choices: [ray, vllm]
    default: ray
"""

EXAMPLES = r"""
- name: Refuse a container without its GPUs
  ansible.builtin.assert:
    that: problems | length == 0
  vars:
    problems: "{{ seen | samewire.vllm.visible_gpu_problems('spark0', 1) }}"
"""

RETURN = r"""
_value:
  description: One sentence for each problem, none where all is well.
  type: list
  elements: str
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _gates


def visible_gpu_problems(
    seen: Mapping[str, Any], host: str, announced: int, part: str = "ray"
) -> list[str]:
    """Return a sentence for each problem; see `_gates.visible_gpu_problems`."""
    return _gates.visible_gpu_problems(seen, host, int(announced), part)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"visible_gpu_problems": visible_gpu_problems}
