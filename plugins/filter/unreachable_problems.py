# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: registered results to a sentence for each host that did not answer."""

from __future__ import annotations

DOCUMENTATION = r"""
name: unreachable_problems
short_description: Name the hosts that cannot be reached, and why
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Reads the results of a task that went on where a host did not answer.
positional: hosts, register, answer
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
  register:
    description: Name under which a task with C(ignore_unreachable) registered its result.
    type: str
    required: true
  answer:
    description: What the result of a module that did run holds.
    type: str
    default: ping
"""

EXAMPLES = r"""
- name: Refuse hosts that cannot be reached
  ansible.builtin.assert:
    that: problems | length == 0
    fail_msg: "{{ problems | join('\n') }}"
  vars:
    problems: "{{ hostvars | samewire.vllm.unreachable_problems(ansible_play_hosts_all, 'reached') }}"
"""

RETURN = r"""
_value:
  description: One sentence for each host that did not answer.
  type: list
  elements: str
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _preflight


def unreachable_problems(
    hostvars: Mapping[str, Mapping[str, Any]],
    hosts: Sequence[str],
    register: str,
    answer: str = "ping",
) -> list[str]:
    """Return a sentence for each host that did not answer; see `_preflight.unreachable_problem`."""
    problems = []
    for host in hosts:
        variables = hostvars[host]
        result = variables[register]
        address = variables.get("ansible_host", host)
        user = f"{variables['ansible_user']}@" if "ansible_user" in variables else ""
        where = f"{user}{address}"
        said = [str(result.get(key, "")) for key in ("module_stderr", "module_stdout", "msg")]
        if result.get("unreachable"):
            problems.append(_preflight.unreachable_problem(host, where, said[-1]))
        elif answer not in result:
            problems.append(_preflight.python_problem(host, where, next(filter(None, said), "")))
    return problems


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"unreachable_problems": unreachable_problems}
