# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: the desired state and the facts to the GPUs that each node announces."""

from __future__ import annotations

DOCUMENTATION = r"""
name: node_gpus
short_description: Count the GPUs that each node announces
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - A node announces C(ray_node_gpus), or all GPUs that its host has where nothing is said.
positional: facts
options:
  _input:
    description: The settings of P(samewire.vllm.desired_state#filter), by name of the host.
    type: dict
    required: true
  facts:
    description: The variables of each host, as C(hostvars), with the result C(interconnect_info).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Count the GPUs
  ansible.builtin.debug:
    msg: "{{ settings | samewire.vllm.node_gpus(hostvars) }}"
"""

RETURN = r"""
_value:
  description: GPUs of each host, by name of the host.
  type: dict
"""

from collections.abc import Mapping
from typing import Any


def node_gpus(
    settings: Mapping[str, Mapping[str, Any]], facts: Mapping[str, Mapping[str, Any]]
) -> dict[str, int]:
    """Return the GPUs of each host of the settings."""
    return {
        host: int(own["ray_node_gpus"])
        if "ray_node_gpus" in own
        else len(facts[host]["interconnect_info"]["facts"].get("gpus") or [])
        for host, own in settings.items()
    }


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"node_gpus": node_gpus}
