# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: a plan to one line for people."""

from __future__ import annotations

DOCUMENTATION = r"""
name: plan_summary
short_description: Say a plan in one line
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Names the network, the transport, and the place of each host on it; of many hosts the first.
options:
  _input:
    description: A plan of schema C(samewire.plan/1).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show it
  ansible.builtin.debug:
    msg: "{{ plan | samewire.vllm.plan_summary }}"
"""

RETURN = r"""
_value:
  description: A line; empty where the plan is an error.
  type: str
  sample: >-
    wire: 192.168.200.0/24, RDMA, MTU 9000: spark0 192.168.200.12 on enp1s0f0np0 with rocep1s0f0:1; spark1
    192.168.200.13 on enp1s0f0np0 with rocep1s0f0:1
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _plan


def plan_summary(plan: Mapping[str, Any]) -> str:
    """Return it; see `_plan.summary`."""
    return _plan.summary(plan)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"plan_summary": plan_summary}
