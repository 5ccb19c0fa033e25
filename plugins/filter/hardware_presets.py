# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: variables and GPUs of the hosts to what the presets for their hardware add."""

from __future__ import annotations

DOCUMENTATION = r"""
name: hardware_presets
short_description: Choose the preset for the hardware of each host
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - What the inventory says wins over what a preset would add.
positional: head
options:
  _input:
    description: The variables of each host with defaults, by name of the host.
    type: dict
    required: true
  head:
    description: Name of the host that runs the Ray head.
    type: str
    required: true
  nodes:
    description: What M(samewire.vllm.node_info) returned as C(node), by name of the host.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show what the presets add
  ansible.builtin.debug:
    msg: "{{ (settings | samewire.vllm.hardware_presets('spark0', nodes=nodes)).notes }}"
"""

RETURN = r"""
_value:
  description:
    - C(hosts), by name of the host C(preset), C(because), C(ray_args), C(vllm_args), C(environment), C(shm)
      in bytes and C(drop_page_cache).
    - C(settings), the variables with what is added; C(notes), lines for people.
  type: dict
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _presets


def hardware_presets(
    settings: Mapping[str, Mapping[str, Any]], head: str, nodes: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return it; see `_presets.deployment`."""
    return _presets.deployment(settings, head, nodes)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"hardware_presets": hardware_presets}
