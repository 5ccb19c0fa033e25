# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: hosts whose place on the interconnect has changed."""

from __future__ import annotations

DOCUMENTATION = r"""
name: moved_addresses
short_description: Say which hosts have another interconnect address than on record
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Compares the plan with that of the last deployment, host by host.
positional: before
options:
  _input:
    description: A plan of schema C(samewire.plan/1).
    type: dict
    required: true
  before:
    description: The plan of the last deployment; empty where there is none.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show it
  ansible.builtin.debug:
    msg: "{{ plan | samewire.vllm.moved_addresses(recorded) }}"
"""

RETURN = r"""
_value:
  description: A sentence for each such host.
  type: list
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _last_deployment


def moved_addresses(plan: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """Return it; see `_last_deployment.moved_addresses`."""
    return _last_deployment.moved_addresses(plan, before)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"moved_addresses": moved_addresses}
