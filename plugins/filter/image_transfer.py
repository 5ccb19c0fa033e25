# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: what each host has of the image to who receives it from the head."""

from __future__ import annotations

DOCUMENTATION = r"""
name: image_transfer
short_description: Decide which hosts receive the image from the head
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Takes what each host has of the image, and how the inventory wants it to come by it.
positional: name
options:
  _input:
    description: What M(samewire.vllm.image_pull) returned, by name of the host.
    type: dict
    required: true
  name:
    description: Reference of the image.
    type: str
    required: true
  head:
    description: Name of the host that sends.
    type: str
    required: true
  distribution:
    description: How the hosts come by the image.
    type: str
    choices: [auto, pull, head]
    required: true
  facts:
    description: What M(samewire.vllm.interconnect_info) returned as C(facts), by name of the host.
    type: dict
    required: true
  plan:
    description: The plan of the interconnect.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Decide who receives the image
  ansible.builtin.set_fact:
    transfer: >-
      {{ found | samewire.vllm.image_transfer('vllm/vllm-openai:v0.17.1', head='spark0',
         distribution='auto', facts=facts, plan=interconnect_plan) }}
"""

RETURN = r"""
_value:
  description: The decision.
  type: dict
  contains:
    receivers:
      description: The hosts that receive.
      type: list
      elements: str
    compress:
      description: Whether the image goes compressed.
      type: bool
    notes:
      description: What will be sent and why, a sentence for each receiver.
      type: list
      elements: str
    problems:
      description: One sentence for each problem, none where all is well.
      type: list
      elements: str
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _image_transfer


def image_transfer(
    found: Mapping[str, Mapping[str, Any]],
    name: str,
    head: str,
    distribution: str,
    facts: Mapping[str, Mapping[str, Any]],
    plan: Mapping[str, Any],
) -> dict[str, Any]:
    """Return it; see `_image_transfer.plan`."""
    speeds = {
        host: each.get("speed_mbps")
        for host, own in (plan.get("hosts") or {}).items()
        for each in (facts.get(host) or {}).get("interfaces", [])
        if each["name"] == own["interface"]
    }
    return asdict(_image_transfer.plan(found, name, head, distribution, speeds))


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"image_transfer": image_transfer}
