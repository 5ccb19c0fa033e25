# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: what Ansible leaves of a failure to the hosts, tasks and messages."""

from __future__ import annotations

DOCUMENTATION = r"""
name: run_failures
short_description: List what failed in a block that is being rescued
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Reads what failed on each host, for the report that ends the run.
positional: hosts
options:
  _input:
    description: The variables of each host, as C(hostvars).
    type: dict
    required: true
  hosts:
    description: Names of the hosts.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Say what failed
  ansible.builtin.assert:
    that: problems | length == 0
  vars:
    problems: "{{ hostvars | samewire.vllm.run_failures(ansible_play_hosts_all) }}"
"""

RETURN = r"""
_value:
  description: What failed, each with C(host), C(task) and C(message).
  type: list
  elements: dict
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _gates


def run_failures(
    variables: Mapping[str, Mapping[str, Any]], hosts: list[str]
) -> list[dict[str, str]]:
    """Return what failed; see `_gates.run_failures`."""
    return _gates.run_failures(variables, hosts)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"run_failures": run_failures}
