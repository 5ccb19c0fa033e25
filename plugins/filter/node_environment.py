# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: a plan and a host to the environment of the containers on that host."""

from __future__ import annotations

DOCUMENTATION = r"""
name: node_environment
short_description: Render the container environment of one host from the plan
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Gives the variables that put Ray, vLLM, c10d, Gloo, NCCL and UCX of one host on the planned
    interconnect, sorted by name.
  - Variables of the user win, but one that would put a layer on another wire is refused.
positional: host
options:
  _input:
    description: A plan of schema C(samewire.plan/1), as P(samewire.vllm.cluster_plan#filter) returns it.
    type: dict
    required: true
  host:
    description: Name of the host, as in the plan.
    type: str
    required: true
  head:
    description: Name of the host that runs the Ray head.
    type: str
    required: true
  ray_port:
    description: Port of Ray's GCS on the head.
    type: int
    default: 6379
  overrides:
    description: Variables of the user, by name.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Show what the containers of this host will be given
  ansible.builtin.debug:
    msg: "{{ plan | samewire.vllm.node_environment(inventory_hostname, head='spark0') }}"
"""

RETURN = r"""
_value:
  description: Names and values of environment variables.
  type: dict
"""

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.samewire.vllm.plugins.module_utils import _environment


def node_environment(
    plan: Mapping[str, Any],
    host: str,
    head: str,
    ray_port: int = 6379,
    overrides: Mapping[str, Any] | None = None,
) -> dict[str, str]:
    """Render the environment; see `_environment.node_environment`."""
    try:
        return _environment.node_environment(plan, host, head, ray_port, overrides)
    except _environment.EnvironmentRefused as refused:
        raise AnsibleFilterError(str(refused)) from refused


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"node_environment": node_environment}
