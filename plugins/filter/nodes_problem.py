# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: what Ray said of its nodes to one sentence that names the hosts."""

from __future__ import annotations

DOCUMENTATION = r"""
name: nodes_problem
short_description: Say which nodes Ray lacks or has too many
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Names the planned hosts that have not joined, and the nodes that are not in the plan.
positional: plan, host
options:
  _input:
    description: The result of running C(cluster_nodes.py wait) in the container of the head.
    type: dict
    required: true
  plan:
    description: A plan of schema C(samewire.plan/1).
    type: dict
    required: true
  host:
    description: Name of the head.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Refuse other nodes than the planned ones
  ansible.builtin.assert:
    that: problems | length == 0
  vars:
    problems: "{{ waited | samewire.vllm.nodes_problem(plan, 'spark0') }}"
"""

RETURN = r"""
_value:
  description: The sentence.
  type: str
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _gates


def nodes_problem(waited: Mapping[str, Any], plan: Mapping[str, Any], host: str) -> str:
    """Return the sentence; see `_gates.nodes_problem`."""
    return _gates.nodes_problem(waited, plan, host)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"nodes_problem": nodes_problem}
