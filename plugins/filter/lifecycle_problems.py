# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: the containers of a cluster to why they may not be started, stopped or removed."""

from __future__ import annotations

DOCUMENTATION = r"""
name: lifecycle_problems
short_description: Judge whether the containers of a cluster may be started, stopped or removed
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Refuses containers that are not the cluster's, and a start where a container is missing.
options:
  _input:
    description: What M(samewire.vllm.cluster_status) returned as C(node), by name of the host.
    type: dict
    required: true
  cluster:
    description: Name of the cluster.
    type: str
    required: true
  head:
    description: Name of the host that runs the Ray head.
    type: str
    required: true
  goal:
    description: What is to become of the containers.
    type: str
    choices: [started, stopped, absent]
    required: true
"""

EXAMPLES = r"""
- name: Refuse to touch containers that are not the cluster's
  ansible.builtin.assert:
    that: problems | length == 0
    fail_msg: "{{ problems | join('\n') }}"
  vars:
    problems: "{{ seen | samewire.vllm.lifecycle_problems(cluster='pair', head='spark0', goal='stopped') }}"
"""

RETURN = r"""
_value:
  description: One sentence for each problem, none where all is well.
  type: list
  elements: str
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _lifecycle


def lifecycle_problems(
    nodes: Mapping[str, Mapping[str, Any]], cluster: str, head: str, goal: str
) -> list[str]:
    """Return the sentences; see `_lifecycle.lifecycle_problems`."""
    return _lifecycle.lifecycle_problems(nodes, cluster, head, goal)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"lifecycle_problems": lifecycle_problems}
