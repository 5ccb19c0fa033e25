# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: what all hosts get to whom one of them must reach."""

from __future__ import annotations

DOCUMENTATION = r"""
name: network_setup_targets
short_description: Name the addresses that a host must reach over its new ones
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Gives the addresses that the other hosts get in the same networks, with the size of a full packet.
positional: host
options:
  _input:
    description: What the inventory wants, by name of the host; a list of C(interface), C(address) and C(mtu).
    type: dict
    required: true
  host:
    description: Name of the host that asks.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Ask the other hosts
  samewire.vllm.network_setup_ping:
    host: "{{ inventory_hostname }}"
    targets: "{{ links | samewire.vllm.network_setup_targets(inventory_hostname) }}"
"""

RETURN = r"""
_value:
  description: What M(samewire.vllm.network_setup_ping) takes as C(targets).
  type: list
  elements: dict
  sample: [{host: spark1, address: 192.168.200.13, interface: enp1s0f0np0}]
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _network_setup


def network_setup_targets(links: Mapping[str, Any], host: str) -> list[dict[str, str]]:
    """Return the addresses of the others, each with the own interface in its network."""
    wanted = {name: _network_setup.parse(name, each)[0] for name, each in links.items()}
    return _network_setup.targets(wanted, host)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"network_setup_targets": network_setup_targets}
