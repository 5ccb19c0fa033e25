#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: listen on the interconnect, and have all who listen try each other; changes nothing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: wire_proof
short_description: Have the hosts of a cluster try the interconnect between all of them
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Each host listens first. Then one of them asks all, over the interconnect, to connect to all others at
    once, and returns what they saw. So one host is enough to try every ordered pair.
  - It judges nothing; P(samewire.vllm.wire_verdict#filter) does, from what all hosts saw. Nothing is changed
    on any host.
  - One module for all steps, so that Ansible packs it once.
requirements:
  - iproute2 4.17 or later on the host, for the routes.
attributes:
  check_mode:
    description: Can run in check mode; it never changes anything.
    support: full
options:
  step:
    description:
      - V(listen) binds O(ports), and one of the kernel's choice, on O(address), returns, and answers in the
        background until all hosts were heard, or until the time is over. A port on which another program
        listens, as Ray of a running cluster, is left to it and reported as live.
      - On an order that is sealed with the key, who listens connects, once, from O(address) to all ports on
        which the other hosts listen, and looks who answers, which way the kernel goes, whether a full packet
        arrives, how far the clocks are apart, and whether another machine claims O(address). A few seconds at
        most, whatever fails.
      - V(ask) gives that order. A host that cannot be asked in this way is missing in the result. It can be
        asked on the host itself, where no network lies between.
      - V(end) ends who listens, at once.
    type: str
    choices: [listen, ask, end]
    required: true
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
  host:
    description: Name of the host that asks.
    type: str
  listeners:
    description: What V(listen) returned as C(listener), by name of all hosts, or for V(end) of those to end.
    type: dict
  keys:
    description: What V(listen) returned as C(key), by name of the hosts to ask.
    type: dict
"""

EXAMPLES = r"""
- name: Listen on the interconnect
  samewire.vllm.wire_proof:
    step: listen
    address: 192.168.200.12
    interface: enp1s0f0np0
    ports: [6379]
  register: wire

- name: Have all hosts open connections to all others
  samewire.vllm.wire_proof:
    step: ask
    host: "{{ inventory_hostname }}"
    listeners: "{{ listeners }}"
    keys: "{{ keys }}"
  run_once: true
"""

RETURN = r"""
listener:
  description: What the others need to reach this host, and what the verdict is made from.
  returned: V(listen)
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
  description: What an order to this host is sealed with; it is worth nothing later.
  returned: V(listen)
  type: str
  sample: 9f86d081884c7d659a2feaa0c55ad015
probes:
  description: What the hosts saw that could be asked, by name.
  returned: V(ask)
  type: dict
  sample:
    spark0:
      crossings:
        - target: spark1
          attempts: [[41532, connected], [6379, connected]]
          route_interface: enp1s0f0np0
          route_source: 192.168.200.12
          neighbour_mac: "02:00:00:00:00:02"
          neighbour_state: REACHABLE
          expected_packet: 9000
          packet: 9000
          lost: false
          clock: [0.002, 0.0001]
      duplicate: null
      absent: {}
"""

import secrets
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import (
    _background,
    _programs,
    _wire,
    _wire_ask,
    _wire_listen,
)

SPEC: dict[str, Any] = {
    "argument_spec": {
        "step": {"type": "str", "choices": ["listen", "ask", "end"], "required": True},
        "address": {"type": "str"},
        "interface": {"type": "str"},
        "ports": {"type": "list", "elements": "int", "default": []},
        "port_ranges": {"type": "list", "elements": "str", "default": []},
        "seconds": {"type": "int", "default": 60},
        "host": {"type": "str"},
        "listeners": {"type": "dict"},
        "keys": {"type": "dict", "no_log": True},
    },
    "required_if": [
        ("step", "listen", ("address", "interface")),
        ("step", "ask", ("host", "listeners", "keys")),
        ("step", "end", ("listeners",)),
    ],
    "supports_check_mode": True,
}


def _listen(module: AnsibleModule) -> dict[str, Any]:
    given = module.params
    listener, sockets = _wire_listen.listen(
        given["address"], given["interface"], given["ports"], given["port_ranges"]
    )
    key, run = secrets.token_hex(16), _programs.runner(module)
    if listener.problem is None:
        _background.detached(
            lambda: _wire_listen.serve(listener, key, sockets, given["seconds"], run)
        )
    return {"listener": _wire.render_listener(listener), "key": key}


def _ask(module: AnsibleModule) -> dict[str, Any]:
    given = module.params
    probes = _wire_ask.ask(given["host"], _listeners(module), given["keys"])
    return {"probes": {name: _wire.render_probe(each) for name, each in probes.items()}}


def _end(module: AnsibleModule) -> dict[str, Any]:
    for listener in _listeners(module).values():
        _wire_listen.end(listener)
    return {}


def _listeners(module: AnsibleModule) -> dict[str, _wire.Listener]:
    return {name: _wire.parse_listener(each) for name, each in module.params["listeners"].items()}


_STEPS = {"listen": _listen, "ask": _ask, "end": _end}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(**SPEC)
    module.exit_json(changed=False, **_STEPS[module.params["step"]](module))


if __name__ == "__main__":
    main()
