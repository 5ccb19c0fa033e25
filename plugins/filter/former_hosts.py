# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: the hosts on record that are none of the cluster any more."""

from __future__ import annotations

DOCUMENTATION = r"""
name: former_hosts
short_description: Give the hosts that have left a cluster
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Compares the hosts on record with those of the inventory, so that who was removed can leave the
    cluster.
positional: hosts
options:
  _input:
    description: The hosts on record, as P(samewire.vllm.host_connections#filter) gave them.
    type: dict
    required: true
  hosts:
    description: Names of the hosts of the cluster now.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Show it
  ansible.builtin.debug:
    msg: "{{ recorded | samewire.vllm.former_hosts(['spark0']) }}"
"""

RETURN = r"""
_value:
  description: C(name) and C(variables) of each, in order of name.
  type: list
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _last_deployment


def former_hosts(recorded: Mapping[str, Any], hosts: Sequence[str]) -> list[dict[str, Any]]:
    """Return it; see `_last_deployment.former_hosts`."""
    return _last_deployment.former_hosts(recorded, hosts)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"former_hosts": former_hosts}
