# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: what each host has of the weights to who sends what to whom."""

from __future__ import annotations

DOCUMENTATION = r"""
name: weights_plan
short_description: Decide which host sends the weights of a model to which others
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Takes the pinned source, else the head, else the host that has most of the weights, and lists what
    the others lack.
positional: model, path
options:
  _input:
    description: What M(samewire.vllm.weights_info) returned as C(weights), by name of the host.
    type: dict
    required: true
  model:
    description: The model, a hub id or a path on the hosts.
    type: str
    required: true
  path:
    description: Where the model lies on the hosts.
    type: str
    required: true
  head:
    description: Name of the host that gives the weights where several hosts have them.
    type: str
    required: true
  source:
    description: Name of the host that gives the weights in any case.
    type: str
    default: ""
  download:
    description: >-
      What P(samewire.vllm.hub_downloader#filter) returned, where a hub was asked for a model that no host
      has.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Decide who sends what to whom
  ansible.builtin.set_fact:
    transfer: "{{ weights | samewire.vllm.weights_plan('/models/qwen', '/models/qwen', head='spark0') }}"
"""

RETURN = r"""
_value:
  description: The decision.
  type: dict
  contains:
    source:
      description: The host that sends, none where no host has the weights.
      type: str
    size:
      description: Bytes of the model.
      type: int
    receivers:
      description: C(files), with size and hash by name, and C(size) in bytes, by name of the host.
      type: dict
    notes:
      description: What will be sent, a sentence for each receiver.
      type: list
      elements: str
    problems:
      description: One sentence for each problem, none where all is well.
      type: list
      elements: str
    flaws:
      description: Why what is there does not count as the model, a sentence for each host.
      type: list
      elements: str
    settled:
      description: Whether all hosts are known to have the same, so that nothing is to be done.
      type: bool
    model:
      description: C(config) of the model, and C(files) with sizes, as far as they are known.
      type: dict
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _weights_plan


def weights_plan(
    found: Mapping[str, Mapping[str, Any]],
    model: str,
    path: str,
    head: str,
    source: str = "",
    download: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return it; see `_weights_plan.plan` and `_weights_plan.from_hub`."""
    decided = _weights_plan.plan(found, model, path, head, source)
    if download and decided.source is None and not decided.problems:
        decided = _weights_plan.from_hub(decided, found, path, download)
    return {
        **vars(decided),
        "receivers": {host: vars(delivery) for host, delivery in decided.receivers.items()},
        "notes": _weights_plan.notes(decided),
    }


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"weights_plan": weights_plan}
