# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: a plan and the GPUs of the hosts to the nodes that Ray must have."""

from __future__ import annotations

DOCUMENTATION = r"""
name: expected_nodes
short_description: Give the nodes that Ray must have, as the containers wait for them
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - The entry points of the containers get this text, so that they can wait without the controller.
positional: gpus
options:
  _input:
    description: A plan of schema C(samewire.plan/1).
    type: dict
    required: true
  gpus:
    description: GPUs of each host, by name of the host.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the nodes
  ansible.builtin.debug:
    msg: "{{ plan | samewire.vllm.expected_nodes({'spark0': 1, 'spark1': 1}) }}"
"""

RETURN = r"""
_value:
  description: C(ADDRESS=GPUS,…), in order of the hosts' names.
  type: str
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _containers


def expected_nodes(plan: Mapping[str, Any], gpus: Mapping[str, Any]) -> str:
    """Return the planned nodes; see `_containers.expected_nodes`."""
    return _containers.expected_nodes(plan, {host: int(count) for host, count in gpus.items()})


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"expected_nodes": expected_nodes}
