# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: the parallel sizes to the GPUs that the server may see on a host."""

from __future__ import annotations

DOCUMENTATION = r"""
name: visible_devices
short_description: Name the GPUs that vLLM may see on a host
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Without Ray vLLM takes ranks for neighbours by their number and the GPUs that it sees, so where a replica
    needs more than one host it must see no more of them than it has ranks on the host.
positional: gpus, present
options:
  _input:
    description:
      - The parallel sizes and C(vllm_server_executor), C(ray) or C(mp), as the variables of the role
        vllm_server.
    type: dict
    required: true
  gpus:
    description: GPUs of each host that the cluster may use, by name of the host.
    type: dict
    required: true
  present:
    description: GPUs that this host has.
    type: int
    required: true
"""

EXAMPLES = r"""
- name: Show the variable
  ansible.builtin.debug:
    msg: "{{ settings['spark0'] | samewire.vllm.visible_devices(gpus, 8) }}"
"""

RETURN = r"""
_value:
  description: Variables of the container; none where it may see all GPUs.
  type: dict
  sample: {CUDA_VISIBLE_DEVICES: "0,1,2,3"}
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _shape


def visible_devices(
    settings: Mapping[str, Any], gpus: Mapping[str, Any], present: Any
) -> dict[str, str]:
    """Return the variables; see `_shape.visible_gpus`."""
    counts = {name: int(count) for name, count in gpus.items()}
    visible = _shape.visible_gpus(_shape.sizes(settings), counts, int(present))
    return {"CUDA_VISIBLE_DEVICES": visible} if visible else {}


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"visible_devices": visible_devices}
