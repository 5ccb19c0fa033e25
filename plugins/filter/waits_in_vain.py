# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: connections that nobody answers to what a silent start waits for."""

from __future__ import annotations

DOCUMENTATION = r"""
name: waits_in_vain
short_description: Name the members that another looks for off the interconnect, in vain
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - A layer that was told another address than the planned one often waits for it without a word. The
    kernel knows what it waits for.
options:
  _input:
    description: A plan of schema C(samewire.plan/1).
    type: dict
    required: true
  facts:
    description: What M(samewire.vllm.interconnect_info) returned as C(facts), by name of the host.
    type: dict
    required: true
  pending:
    description: What M(samewire.vllm.cluster_observation) returned as C(pending), by name of the host.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Say what the hosts wait for
  ansible.builtin.debug:
    msg: "{{ plan | samewire.vllm.waits_in_vain(facts=facts, pending=pending) }}"
"""

RETURN = r"""
_value:
  description: One sentence for each member that is waited for in vain.
  type: list
  elements: str
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _proof


def waits_in_vain(
    plan: Mapping[str, Any],
    facts: Mapping[str, Mapping[str, Any]],
    pending: Mapping[str, list[dict[str, Any]]],
) -> list[str]:
    """Return a sentence for each; see `_proof.waits_in_vain`."""
    if not plan or "hosts" not in plan:
        return []
    return _proof.waits_in_vain(plan, _proof.addresses_of(facts), pending)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"waits_in_vain": waits_in_vain}
