# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: what was observed after a deployment to where it differs from the plan."""

from __future__ import annotations

DOCUMENTATION = r"""
name: proof_problems
short_description: Judge what was observed after a deployment against the plan
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - The nodes that Ray registered must be the planned ones; without Ray, every host must have joined the head.
    Every connection between two hosts of the
    cluster must run between their interconnect addresses.
options:
  _input:
    description: A plan of schema C(samewire.plan/1).
    type: dict
    required: true
  gpus:
    description: GPUs of each host, by name of the host.
    type: dict
    required: true
  registered:
    description: GPUs of the nodes that Ray registered, by address; none where vLLM runs without Ray.
    type: dict
    required: true
  head:
    description: Name of the head.
    type: str
    required: true
  master_port:
    description: Port on which the ranks meet without Ray.
    type: int
    required: true
  facts:
    description: What M(samewire.vllm.interconnect_info) returned as C(facts), by name of the host.
    type: dict
    required: true
  censuses:
    description: What M(samewire.vllm.cluster_observation) returned as C(connections), by name of the host.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Compare the cluster with the plan
  ansible.builtin.assert:
    that: problems | length == 0
  vars:
    problems: >-
      {{ plan | samewire.vllm.proof_problems(gpus=gpus, registered=nodes, head='spark0', master_port=29501,
         facts=facts, censuses=seen) }}
"""

RETURN = r"""
_value:
  description: One sentence for each difference, none where the cluster is as planned.
  type: list
  elements: str
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _parts, _proof


def proof_problems(
    plan: Mapping[str, Any],
    gpus: Mapping[str, Any],
    registered: Mapping[str, Any] | None,
    head: str,
    master_port: Any,
    facts: Mapping[str, Mapping[str, Any]],
    censuses: Mapping[str, list[dict[str, Any]]],
) -> list[str]:
    """Return a sentence for each difference; see `_proof`."""
    if registered is None:
        port = _parts.lead_port(int(master_port))
        problems = _proof.part_problems(plan, head, port, censuses[head])
    else:
        problems = _proof.node_problems(
            plan,
            {host: int(count) for host, count in gpus.items()},
            {address: int(count) for address, count in registered.items()},
        )
    return [
        *problems,
        *_proof.stray_connections(plan, _proof.addresses_of(facts), censuses),
    ]


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"proof_problems": proof_problems}
