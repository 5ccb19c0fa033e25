# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: a plan, and what a host has, to why it cannot be watched, or watch."""

from __future__ import annotations

DOCUMENTATION = r"""
name: monitoring_problems
short_description: Say why a host cannot be watched by Prometheus, or watch
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - A Prometheus or a node exporter of somebody else, or of another cluster, is never taken over.
positional: host
options:
  _input:
    description: A plan of schema C(samewire.plan/1), empty where there is none.
    type: dict
    required: true
  host:
    description: Name of the host.
    type: str
    required: true
  hosts:
    description: Names of all hosts of the inventory.
    type: list
    elements: str
    required: true
  wanted:
    description: What is to be watched, as P(samewire.vllm.prometheus_config#filter) takes it.
    type: dict
    required: true
  seen:
    description: >-
      C(md5) of the configuration of Prometheus, C(conffiles), what dpkg says of the files of that package,
      and C(scripts), paths of the programs that any cluster's monitoring starts.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Refuse a host that cannot be watched
  ansible.builtin.assert:
    that: problems | length == 0
    fail_msg: "{{ problems | join('\n') }}"
  vars:
    problems: >-
      {{ plan | samewire.vllm.monitoring_problems(inventory_hostname, hosts=ansible_play_hosts_all,
         wanted=wanted, seen=seen) }}
"""

RETURN = r"""
_value:
  description: One sentence for each problem, none where all is well.
  type: list
  elements: str
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _monitoring


def monitoring_problems(
    plan: Mapping[str, Any],
    host: str,
    hosts: Sequence[str],
    wanted: Mapping[str, Any],
    seen: Mapping[str, Any],
) -> list[str]:
    """Return the problems; see `_monitoring.problems`."""
    return _monitoring.problems(
        plan, host, hosts, _monitoring.Wanted(**wanted), _monitoring.Seen(**seen)
    )


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"monitoring_problems": monitoring_problems}
