# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: a plan, and what firewalls of before let in, to the hosts that they keep out."""

from __future__ import annotations

DOCUMENTATION = r"""
name: excluded_members
short_description: Name the hosts that a cluster's firewall of before keeps out
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - A host that joins a cluster is not known to the firewall that the last deployment loaded.
options:
  _input:
    description: A plan of schema C(samewire.plan/1).
    type: dict
    required: true
  admitted:
    description: What M(samewire.vllm.node_info) returned as C(firewall), by name of the host.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Say who is kept out
  ansible.builtin.debug:
    msg: "{{ plan | samewire.vllm.excluded_members(admitted) }}"
"""

RETURN = r"""
_value:
  description: Names of the hosts that are kept out, by name of the host that does so.
  type: dict
  sample: {spark0: [spark2]}
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _firewall


def excluded_members(
    plan: Mapping[str, Any], admitted: Mapping[str, Sequence[str] | None]
) -> dict[str, list[str]]:
    """Return the hosts; see `_firewall.excluded`."""
    return _firewall.excluded(plan, admitted)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"excluded_members": excluded_members}
