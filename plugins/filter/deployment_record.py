# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: a plan and what was proven to the record of a deployment."""

from __future__ import annotations

DOCUMENTATION = r"""
name: deployment_record
short_description: Write down a proven deployment as one record
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Holds what the proof observed together with the plan; the record of a cluster is kept on the
    controller.
options:
  _input:
    description: A plan of schema C(samewire.plan/1).
    type: dict
    required: true
  head:
    description: Name of the host that runs the Ray head and vLLM.
    type: str
    required: true
  api_host:
    description: Address at which clients reach the head.
    type: str
    required: true
  api_port:
    description: Port of the API.
    type: int
    required: true
  api_tls:
    description: Whether the API speaks TLS.
    type: bool
    required: true
  model:
    description: Name of the model, as clients ask for it.
    type: str
    required: true
  image:
    description: The image, C(reference), C(digest), and C(versions), what it holds.
    type: dict
    required: true
  gpus:
    description: GPUs of each host, by name of the host.
    type: dict
    required: true
  executor:
    description: What spreads vLLM over the hosts.
    type: str
    choices: [ray, mp]
    required: true
  versions:
    description: Versions of what runs, by name.
    type: dict
    required: true
  completion:
    description: The completion that was observed, C(prompt) and C(text).
    type: dict
    required: true
  proven_at:
    description: When it was observed, ISO 8601.
    type: str
    required: true
  presets:
    description: Name of the preset for the hardware, by name of the host.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the record
  ansible.builtin.debug:
    msg: >-
      {{ plan | samewire.vllm.deployment_record(head='spark0', api_host='10.1.230.180', api_port=8000,
         api_tls=false, model='qwen', image=image, gpus=gpus, executor='ray', versions=versions,
         completion=completion, presets={'spark0': 'dgx-spark', 'spark1': 'dgx-spark'},
         proven_at='2026-01-01T00:00:00Z') }}
"""

RETURN = r"""
_value:
  description: The record, schema C(samewire.record/1).
  type: dict
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _proof


def deployment_record(plan: Mapping[str, Any], **observed: Any) -> dict[str, Any]:
    """Return the record; see `_proof.record`."""
    observed["gpus"] = {host: int(count) for host, count in observed["gpus"].items()}
    observed["api_port"] = int(observed["api_port"])
    return _proof.record(plan, **observed)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"deployment_record": deployment_record}
