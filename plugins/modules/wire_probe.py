#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: open connections from this host to the others of the cluster; changes nothing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: wire_probe
short_description: Open connections over the interconnect to all other hosts
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Connects from the own interconnect address to all ports on which the other hosts listen, at once, and
    looks who answers, which way the kernel goes, whether a full packet arrives, how far the clocks are apart,
    and whether another machine claims the own address. A few seconds at most, whatever fails.
  - It judges nothing; P(samewire.vllm.wire_verdict#filter) does, from what all hosts saw.
requirements:
  - iproute2 4.17 or later on the host, for the routes.
attributes:
  check_mode:
    description: Can run in check mode; it never changes anything.
    support: full
options:
  host:
    description: Name of this host.
    type: str
    required: true
  listeners:
    description: What M(samewire.vllm.wire_listen) returned as C(listener), by name of all hosts.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Open the connections
  samewire.vllm.wire_probe:
    host: "{{ inventory_hostname }}"
    listeners: "{{ listeners }}"
  register: wire
"""

RETURN = r"""
probe:
  description: What this host saw.
  returned: always
  type: dict
  sample:
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

from collections.abc import Sequence

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import _wire, _wire_probe


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "host": {"type": "str", "required": True},
            "listeners": {"type": "dict", "required": True},
        },
        supports_check_mode=True,
    )

    def run(argv: Sequence[str], given: str) -> tuple[int, str, str]:
        program = module.get_bin_path(argv[0], opt_dirs=["/sbin", "/usr/sbin"])
        if program is None:
            return 127, "", f"{argv[0]} is not installed"
        code, out, err = module.run_command([program, *argv[1:]], data=given)
        return code, out, err

    host = module.params["host"]
    listeners = {
        name: _wire.parse_listener(each) for name, each in module.params["listeners"].items()
    }
    own = listeners.pop(host)
    # A host that cannot listen has no port to try, and says so itself.
    probe = _wire_probe.probe(host, own, listeners, run)
    module.exit_json(changed=False, probe=_wire.render_probe(probe))


if __name__ == "__main__":
    main()
