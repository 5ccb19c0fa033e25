# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: a plan to the variables that the containers of one host must still have."""

from __future__ import annotations

DOCUMENTATION = r"""
name: planned_variables
short_description: Give the variables that a plan gives to the containers of one host
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Leaves out what the user has overridden, as the plan lists it.
positional: host
options:
  _input:
    description: A plan of schema C(samewire.plan/1); empty gives no variables.
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
    required: true
"""

EXAMPLES = r"""
- name: Show what the containers of this host must have
  ansible.builtin.debug:
    msg: "{{ plan | samewire.vllm.planned_variables(inventory_hostname, head='spark0', ray_port=6379) }}"
"""

RETURN = r"""
_value:
  description: Names and values of environment variables.
  type: dict
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _status


def planned_variables(
    plan: Mapping[str, Any], host: str, head: str, ray_port: int
) -> dict[str, str]:
    """Return the variables; see `_status.planned_variables`."""
    return _status.planned_variables(plan, host, head, int(ray_port))


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"planned_variables": planned_variables}
