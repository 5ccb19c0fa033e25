# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: names of hosts to a few words."""

from __future__ import annotations

DOCUMENTATION = r"""
name: host_names
short_description: Name hosts in a few words
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Names up to three hosts, and counts the others.
  - In the name of a task it saves most of the controller's work. The controller renders such a name
    before it forks for the hosts, and for that it loads all filters of this collection; otherwise each
    task of each host that needs one of them loads all of them again.
options:
  _input:
    description: Names of hosts.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: "Plan the interconnect of {{ ansible_play_hosts_all | samewire.vllm.host_names }}"
  ansible.builtin.set_fact:
    plan: "{{ hostvars | samewire.vllm.cluster_plan(cluster='samewire', head='node0') }}"
"""

RETURN = r"""
_value:
  description: The names in one line, as C(node0, node1 and 30 more).
  type: str
"""

from collections.abc import Sequence
from typing import Any

_SHOWN = 3


def host_names(hosts: Sequence[str]) -> str:
    """Return the names in one line."""
    names = list(map(str, hosts))
    if len(names) <= _SHOWN:
        return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else "".join(names)
    return f"{', '.join(names[: _SHOWN - 1])} and {len(names) - _SHOWN + 1} more"


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"host_names": host_names}
