# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: a plan, a host and its settings to the options of the containers on that host."""

from __future__ import annotations

DOCUMENTATION = r"""
name: node_container
short_description: Render the options that all containers of one host share
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Gives image, environment, mounts and devices as options of M(community.docker.docker_container), and the
    command of the Ray container.
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
  settings:
    description: >-
      The desired state of the node: C(cluster), C(head), C(image), C(model), C(directory), C(port), C(gpus),
      C(gpu_access), C(hub_cache), C(programs), C(environment), C(mounts), C(offline).
    type: dict
    required: true
  extra_args:
    description: Further arguments of C(ray start).
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Keep the options
  ansible.builtin.set_fact:
    container: "{{ plan | samewire.vllm.node_container(inventory_hostname, settings=settings) }}"
"""

RETURN = r"""
_value:
  description: C(options) of the container module, and C(ray_command).
  type: dict
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.samewire.vllm.plugins.module_utils import _containers, _environment


def node_container(
    plan: Mapping[str, Any],
    host: str,
    settings: Mapping[str, Any],
    extra_args: Sequence[str] = (),
) -> dict[str, Any]:
    """Render the options; see `_containers.node_container` and `_containers.ray_start`."""
    node = _containers.NodeSettings(**settings)
    try:
        options = _containers.node_container(plan, host, node)
    except _environment.EnvironmentRefused as refused:
        raise AnsibleFilterError(str(refused)) from refused
    return {"options": options, "ray_command": _containers.ray_start(plan, host, node, extra_args)}


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"node_container": node_container}
