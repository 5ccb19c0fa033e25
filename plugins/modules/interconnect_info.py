#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: what a host says about its interfaces, RDMA ports and GPUs; changes nothing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: interconnect_info
short_description: Read the facts of a host from which an interconnect is planned
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Reads interfaces, addresses, routes, RDMA ports with their GID tables, and GPUs from sysfs and C(ip).
  - What cannot be read is an absent fact with a reason, never a failure. Nothing is changed.
  - The facts of all hosts go into P(samewire.vllm.cluster_plan#filter).
requirements:
  - iproute2 4.17 or later on the host, for JSON output.
attributes:
  check_mode:
    description: Can run in check mode; it never changes anything.
    support: full
options:
  sys_root:
    description:
      - Root of the sysfs tree to read.
      - A tree with the same layout can stand in for it, for example to plan for hardware that is not there.
    type: path
    default: /sys
"""

EXAMPLES = r"""
- name: Read the facts of this host
  samewire.vllm.interconnect_info:
  register: interconnect
"""

RETURN = r"""
facts:
  description:
    - The facts of the host, without its name.
    - An interface with C(addresses) empty has none; a key that is absent could not be read.
  returned: always
  type: dict
  contains:
    interfaces:
      description: Interfaces with their addresses in the kernel's order.
      returned: always
      type: list
      elements: dict
    rdma:
      description: RDMA ports; each GID is a list of index, type and address.
      returned: always
      type: list
      elements: dict
    gpus:
      description: NVIDIA GPUs by PCI address.
      returned: always
      type: list
      elements: dict
    routes:
      description: Routes of the main table, of IPv6 where the host has no IPv4 address.
      returned: when they can be read
      type: list
      elements: dict
    default_route_interface:
      description: Interface of the default route with the lowest metric.
      returned: when there is one
      type: str
    absent:
      description: Reasons for facts that could not be read, by fact.
      returned: when there are any
      type: dict
  sample:
    interfaces:
      - name: enp1s0f0np0
        type: ethernet
        state: up
        addresses: [192.168.200.12/24]
        mtu: 9000
        speed_mbps: 100000
        driver: mlx5_core
        pci: "0000:01:00.0"
    rdma:
      - device: rocep1s0f0
        port: 1
        state: Active
        link_layer: Ethernet
        rate_gbps: 100.0
        netdev: enp1s0f0np0
        gids: [[3, RoCE v2, "::ffff:192.168.200.12"]]
    gpus:
      - pci: "000f:01:00.0"
    routes:
      - {destination: default, family: 4, interface: enP7s7, gateway: 10.1.230.1}
    default_route_interface: enP7s7
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import _probe, _programs

SPEC: dict[str, Any] = {
    "argument_spec": {"sys_root": {"type": "path", "default": "/sys"}},
    "supports_check_mode": True,
}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(**SPEC)
    facts = _probe.gather(_probe.System(_programs.runner(module), module.params["sys_root"]))
    module.exit_json(changed=False, facts=facts)


if __name__ == "__main__":
    main()
