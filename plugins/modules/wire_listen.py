#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: listen on the interconnect for a bounded time, so that the other hosts can try it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: wire_listen
short_description: Listen on the interconnect for a bounded time, for the proof of the wire
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Binds the given ports, and one of the kernel's choice, on the interconnect address of the host, returns,
    and answers in the background until M(samewire.vllm.wire_probe) has heard what all hosts saw, or until
    the time is over. Nothing is changed on the host.
  - On an order of M(samewire.vllm.wire_probe) that is sealed with the key it connects, once, from the own
    interconnect address to all ports on which the other hosts listen, and looks who answers, which way the
    kernel goes, whether a full packet arrives, how far the clocks are apart, and whether another machine
    claims the own address. A few seconds at most, whatever fails.
  - A port on which another program listens, as Ray of a running cluster, is left to it and reported as live.
requirements:
  - iproute2 4.17 or later on the host, for the routes.
attributes:
  check_mode:
    description: Can run in check mode; it never changes anything.
    support: full
options:
  address:
    description: The interconnect address of this host.
    type: str
  interface:
    description: The interface that has the address.
    type: str
  ports:
    description: TCP ports on which this host will be asked.
    type: list
    elements: int
    default: []
  port_ranges:
    description: Ranges as C(FIRST-LAST); one free port of each stands for it.
    type: list
    elements: str
    default: []
  seconds:
    description: How long to listen at most.
    type: int
    default: 60
  end:
    description: What an earlier call returned as C(listener); that one is ended, and nothing else is done.
    type: dict
"""

EXAMPLES = r"""
- name: Listen on the interconnect
  samewire.vllm.wire_listen:
    address: 192.168.200.12
    interface: enp1s0f0np0
    ports: [6379]
  register: wire
"""

RETURN = r"""
listener:
  description: What M(samewire.vllm.wire_probe) of the other hosts needs, and what the verdict is made from.
  returned: always, but with O(end)
  type: dict
  sample:
    address: 192.168.200.12
    interface: enp1s0f0np0
    nonce: 3f0c8f6f5a4f2c11
    ports: [{port: 41532, live: false}, {port: 6379, live: true}]
    mtu: 9000
    carrier: true
    carries: true
    macs: ["02:00:00:00:00:01"]
    problem: null
key:
  description: What M(samewire.vllm.wire_probe) seals its order to this host with; it is worth nothing later.
  returned: always, but with O(end)
  type: str
  sample: 9f86d081884c7d659a2feaa0c55ad015
"""

import secrets

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import (
    _background,
    _programs,
    _wire,
    _wire_listen,
)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "address": {"type": "str"},
            "interface": {"type": "str"},
            "ports": {"type": "list", "elements": "int", "default": []},
            "port_ranges": {"type": "list", "elements": "str", "default": []},
            "seconds": {"type": "int", "default": 60},
            "end": {"type": "dict"},
        },
        required_one_of=[("address", "end")],
        required_together=[("address", "interface")],
        supports_check_mode=True,
    )

    given, run = module.params, _programs.runner(module)
    if given["end"]:
        _wire_listen.end(_wire.parse_listener(given["end"]))
        module.exit_json(changed=False)
    listener, sockets = _wire_listen.listen(
        given["address"], given["interface"], given["ports"], given["port_ranges"]
    )
    key = secrets.token_hex(16)
    if listener.problem is None:
        _background.detached(
            lambda: _wire_listen.serve(listener, key, sockets, given["seconds"], run)
        )
    module.exit_json(changed=False, listener=_wire.render_listener(listener), key=key)


if __name__ == "__main__":
    main()
