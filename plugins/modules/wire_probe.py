#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: have the hosts of the cluster open connections to each other; changes nothing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: wire_probe
short_description: Have hosts open connections over the interconnect to all other hosts
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Tells what M(samewire.vllm.wire_listen) left on the hosts, over the interconnect, to connect to all other
    hosts at once, and returns what they saw. So one host is enough to try every ordered pair.
  - A host that cannot be asked in this way is missing in the result. The same module asks it on the host
    itself, where no network lies between.
  - It judges nothing; P(samewire.vllm.wire_verdict#filter) does, from what all hosts saw.
attributes:
  check_mode:
    description: Can run in check mode; it never changes anything.
    support: full
options:
  host:
    description: Name of the host that asks.
    type: str
    required: true
  listeners:
    description: What M(samewire.vllm.wire_listen) returned as C(listener), by name of all hosts.
    type: dict
    required: true
  keys:
    description: What M(samewire.vllm.wire_listen) returned as C(key), by name of the hosts to ask.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Open the connections
  samewire.vllm.wire_probe:
    host: "{{ inventory_hostname }}"
    listeners: "{{ listeners }}"
    keys: "{{ keys }}"
  run_once: true
  register: wire
"""

RETURN = r"""
probes:
  description: What the hosts saw that could be asked, by name.
  returned: always
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

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import _wire, _wire_ask


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "host": {"type": "str", "required": True},
            "listeners": {"type": "dict", "required": True},
            "keys": {"type": "dict", "required": True, "no_log": True},
        },
        supports_check_mode=True,
    )
    given = module.params
    listeners = {name: _wire.parse_listener(each) for name, each in given["listeners"].items()}
    probes = _wire_ask.ask(given["host"], listeners, given["keys"])
    module.exit_json(
        changed=False, probes={name: _wire.render_probe(each) for name, each in probes.items()}
    )


if __name__ == "__main__":
    main()
