# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: what hosts are to get and what they say about themselves to why it cannot be."""

from __future__ import annotations

DOCUMENTATION = r"""
name: network_setup_problems
short_description: Judge the addresses that interfaces of the fabric are to get, on all hosts together
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Names each interface that is not one of the fabric, each address, network and MTU that cannot be meant,
    and each difference between the hosts.
positional: links, reached_by, rollback, state
options:
  _input:
    description: What M(samewire.vllm.network_setup_info) returned as C(facts), by name of the host.
    type: dict
    required: true
  links:
    description: What the inventory wants, by name of the host; a list of C(interface), C(address) and C(mtu).
    type: dict
    required: true
  reached_by:
    description: C(ansible_host), by name of the host; empty where it is not set.
    type: dict
    required: true
  rollback:
    description: Seconds until a change that is not confirmed is taken back.
    type: int
    required: true
  state:
    description: Whether the addresses are to be there.
    type: str
    choices: [present, absent]
    default: present
"""

EXAMPLES = r"""
- name: Refuse what cannot be meant
  ansible.builtin.assert:
    that: problems | length == 0
    fail_msg: "{{ problems | join('\n') }}"
  vars:
    problems: "{{ facts | samewire.vllm.network_setup_problems(links, reached_by, 60) }}"
"""

RETURN = r"""
_value:
  description: One sentence for each problem, none where all is well.
  type: list
  elements: str
  sample:
    - >-
      spark0: enP7s7 is the interface by which Ansible reaches the host (10.1.230.180), expected one of the
      fabric; name another one in interconnect_network_setup_links
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _network_setup


def network_setup_problems(
    facts: Mapping[str, Mapping[str, Any]],
    links: Mapping[str, Any],
    reached_by: Mapping[str, str],
    rollback: int,
    state: str = "present",
) -> list[str]:
    """Return a sentence for each problem; see `_network_setup.problems`."""
    hosts, unread = [], []
    for name, each in facts.items():
        wanted, problems = _network_setup.parse(name, links[name])
        unread += problems
        hosts.append(_network_setup.Asked(name, wanted, each, reached_by[name]))
    if state == "absent":
        return _network_setup.absent_problems(hosts)
    return unread or _network_setup.problems(hosts, rollback)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"network_setup_problems": network_setup_problems}
