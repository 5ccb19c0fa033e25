# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: the plan and the desired sizes to the arguments of vllm serve."""

from __future__ import annotations

DOCUMENTATION = r"""
name: parallel_arguments
short_description: Write the arguments of vllm serve for the parallel sizes
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Ranks are spread over the hosts by Ray, or each host runs its own, and they meet at the planned address of
    the head.
options:
  _input:
    description: A plan of schema C(samewire.plan/1).
    type: dict
    required: true
  head:
    description: Name of the host that runs vLLM's server.
    type: str
    required: true
  gpus:
    description: GPUs of each host, by name of the host.
    type: dict
    required: true
  settings:
    description:
      - The parallel sizes, C(vllm_server_executor), C(ray) or C(mp), and C(vllm_server_master_port), as the
        variables of the role vllm_server.
    type: dict
    required: true
  host:
    description: Name of the host that runs this part of the server; without it, the head.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Show the arguments
  ansible.builtin.debug:
    msg: "{{ plan | samewire.vllm.parallel_arguments('spark0', gpus, settings['spark0']) }}"
"""

RETURN = r"""
_value:
  description: Arguments.
  type: list
  elements: str
  sample: [--distributed-executor-backend, ray, --tensor-parallel-size, "2", --pipeline-parallel-size, "1"]
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _shape


def parallel_arguments(
    plan: Mapping[str, Any],
    head: str,
    gpus: Mapping[str, Any],
    settings: Mapping[str, Any],
    host: str = "",
) -> list[str]:
    """Return the arguments; see `_shape.arguments`."""
    counts = {name: int(count) for name, count in gpus.items()}
    address = plan["hosts"][head]["address"]
    port = int(settings.get("vllm_server_master_port", 0))
    return _shape.arguments(_shape.sizes(settings), counts, head, address, host or head, port)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"parallel_arguments": parallel_arguments}
