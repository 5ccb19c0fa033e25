# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: a plan, a host and the user's variables to what the plan cannot hold."""

from __future__ import annotations

DOCUMENTATION = r"""
name: environment_problems
short_description: Say where variables of the user would break the plan
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Judges, before anything is changed, what P(samewire.vllm.node_environment#filter) would refuse.
positional: host
options:
  _input:
    description: A plan of schema C(samewire.plan/1).
    type: dict
    required: true
  host:
    description: Name of the host.
    type: str
    required: true
  head:
    description: Name of the host that runs the Ray head.
    type: str
    required: true
  overrides:
    description: Variables of the user, by name.
    type: dict
    default: {}
  ray_port:
    description: Port of Ray's GCS on the head.
    type: int
    default: 6379
"""

EXAMPLES = r"""
- name: Refuse variables that would put a layer on another wire
  ansible.builtin.assert:
    that: problems | length == 0
  vars:
    problems: >-
      {{ plan | samewire.vllm.environment_problems(inventory_hostname, head='spark0',
         overrides={'NCCL_DEBUG': 'INFO'}) }}
"""

RETURN = r"""
_value:
  description: One sentence for the first problem, none where all is well.
  type: list
  elements: str
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _environment


def environment_problems(
    plan: Mapping[str, Any],
    host: str,
    head: str,
    overrides: Mapping[str, Any] | None = None,
    ray_port: int = 6379,
) -> list[str]:
    """Return the sentence with which the environment is refused, if it is."""
    try:
        _environment.node_environment(plan, host, head, int(ray_port), overrides)
    except _environment.EnvironmentRefused as refused:
        return [str(refused)]
    return []


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"environment_problems": environment_problems}
