# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: the plan to what a container of vLLM runs before vllm serve."""

from __future__ import annotations

DOCUMENTATION = r"""
name: server_entry
short_description: Write what a container of vLLM runs before vllm serve
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - With Ray it waits for Ray's nodes; without, the parts of all hosts wait for each other.
options:
  _input:
    description: A plan of schema C(samewire.plan/1).
    type: dict
    required: true
  host:
    description: Name of the host that runs the container.
    type: str
    required: true
  head:
    description: Name of the head.
    type: str
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
  master_port:
    description: Port on which the ranks meet without Ray.
    type: int
    required: true
"""

EXAMPLES = r"""
- name: Show the entry
  ansible.builtin.debug:
    msg: >-
      {{ plan | samewire.vllm.server_entry('spark1', head='spark0', gpus=gpus, executor='mp',
         master_port=29501) }}
"""

RETURN = r"""
_value:
  description: Program and arguments, to which those of vLLM are added.
  type: list
  elements: str
  sample: [python, /samewire/ranks.py, follow, --head, "10.0.0.1:29502", --own, 10.0.0.2, --]
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _containers


def server_entry(
    plan: Mapping[str, Any],
    host: str,
    head: str,
    gpus: Mapping[str, Any],
    executor: str,
    master_port: Any,
) -> list[str]:
    """Return program and arguments; see `_containers.server_entry`."""
    counts = {name: int(count) for name, count in gpus.items()}
    return _containers.server_entry(plan, host, head, counts, executor, int(master_port))


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"server_entry": server_entry}
