# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: what the hosts have to what keeps them from the planned RDMA."""

from __future__ import annotations

DOCUMENTATION = r"""
name: rdma_problems
short_description: Judge whether the hosts can carry the planned transport
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Where RDMA is planned, its devices must be there and Docker must be able to lock memory.
positional: transport
options:
  _input:
    description: What M(samewire.vllm.node_info) returned as C(node), by name of the host.
    type: dict
    required: true
  transport:
    description: Transport of the plan, C(rdma) or C(socket).
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Refuse hosts without RDMA
  ansible.builtin.assert:
    that: problems | length == 0
  vars:
    problems: "{{ nodes | samewire.vllm.rdma_problems(plan.transport) }}"
"""

RETURN = r"""
_value:
  description: One sentence for each problem, none where all is well.
  type: list
  elements: str
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _preflight


def rdma_problems(nodes: Mapping[str, Mapping[str, Any]], transport: str) -> list[str]:
    """Return a sentence for each problem; see `_preflight.rdma_problems`."""
    return _preflight.rdma_problems(nodes, transport)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"rdma_problems": rdma_problems}
