# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: what spreads vLLM over the hosts to the containers of one host."""

from __future__ import annotations

DOCUMENTATION = r"""
name: host_parts
short_description: Name the containers that a host of a cluster has
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - With Ray every host has a container of Ray, and the head one of vLLM; without, every host has one of vLLM.
positional: is_head
options:
  _input:
    description: What spreads vLLM over the hosts, C(ray) or C(mp).
    type: str
    required: true
  is_head:
    description: Whether the host is the head.
    type: bool
    required: true
"""

EXAMPLES = r"""
- name: Show the containers
  ansible.builtin.debug:
    msg: "{{ 'mp' | samewire.vllm.host_parts(inventory_hostname == 'spark0') }}"
"""

RETURN = r"""
_value:
  description: The containers, in the order in which they start.
  type: list
  elements: str
  sample: [ray, vllm]
"""

from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _parts


def host_parts(executor: str, is_head: bool) -> list[str]:
    """Return the containers; see `_parts.parts`."""
    return list(_parts.parts(executor, is_head=is_head))


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"host_parts": host_parts}
