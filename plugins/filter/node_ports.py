# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: the desired state to the ports that must be free on each host."""

from __future__ import annotations

DOCUMENTATION = r"""
name: node_ports
short_description: List the ports that the containers of each host will listen on
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Gives the ports of the Ray head and of vLLM's API on the head, and on every host those that the arguments
    of C(ray start) fix.
positional: head
options:
  _input:
    description: The settings of P(samewire.vllm.desired_state#filter), by name of the host.
    type: dict
    required: true
  head:
    description: Name of the host that runs the Ray head.
    type: str
    required: true
  executor:
    description: >-
      What spreads vLLM over the hosts, in the place of what the settings say; V(auto) gives the ports of all.
    type: str
"""

EXAMPLES = r"""
- name: Show the ports
  ansible.builtin.debug:
    msg: "{{ settings | samewire.vllm.node_ports('spark0') }}"
"""

RETURN = r"""
_value:
  description: Purpose and variable by port, by name of the host.
  type: dict
  sample:
    spark0: {6379: [the Ray head, ray_node_port], 8000: [the vLLM API, vllm_server_port]}
    spark1: {}
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _preflight


def node_ports(
    settings: Mapping[str, Mapping[str, Any]], head: str, executor: str | None = None
) -> dict[str, dict[int, list[str]]]:
    """Return the ports of each host; see `_preflight.ports`."""
    change = {"vllm_server_executor": executor} if executor else {}
    return {
        host: {
            port: list(user)
            for port, user in _preflight.ports({**own, **change}, is_head=host == head).items()
        }
        for host, own in settings.items()
    }


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"node_ports": node_ports}
