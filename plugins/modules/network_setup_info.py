#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: what must be known of a host before its network is changed; changes nothing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: network_setup_info
short_description: Read what must be known of a host before its network is changed
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Reads links, networks, who configures interfaces, and by which address SSH came in. Nothing is changed;
    netplan's files are read by C(netplan generate), into a folder that is removed again.
  - It judges nothing; P(samewire.vllm.network_setup_problems#filter) does, for all hosts together.
  - Needs root, since files of connections are only root's.
requirements:
  - iproute2 4.17 or later on the host.
attributes:
  check_mode:
    description: Can run in check mode; it never changes anything.
    support: full
options:
  interfaces:
    description: Names of the interfaces that are to be set up.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Read what must be known
  samewire.vllm.network_setup_info:
    interfaces: [enp1s0f0np0]
  become: true
  register: network
"""

RETURN = r"""
facts:
  description: What P(samewire.vllm.network_setup_problems#filter) judges.
  returned: always
  type: dict
  contains:
    host:
      description: What M(samewire.vllm.interconnect_info) returns.
      returned: always
      type: dict
    links:
      description: State, MTU with its bounds, and addresses of each interface.
      returned: always
      type: dict
    networks:
      description: Networks that the host reaches, each with its interface.
      returned: always
      type: list
      elements: list
    ssh:
      description: Address of this host that the SSH connection came in on, empty without one.
      returned: always
      type: str
    manager:
      description: Who gives interfaces addresses, one of C(netplan), C(NetworkManager), C(ifupdown), C(ip).
      returned: always
      type: str
    owners:
      description: File of somebody else that configures an interface, by interface.
      returned: always
      type: dict
    made:
      description: Addresses that M(samewire.vllm.network_setup) made, by interface.
      returned: always
      type: dict
    problems:
      description: Why the host cannot be judged, a sentence each.
      returned: always
      type: list
      elements: str
  sample:
    links:
      enp1s0f0np0:
        up: true
        carrier: true
        mac: "02:00:00:00:00:01"
        mtu: 1500
        min_mtu: 68
        max_mtu: 9978
        addresses: []
    networks: [[enP7s7, 10.1.230.0/24]]
    ssh: 10.1.230.180
    manager: netplan
    owners: {}
    made: {}
    problems: []
"""


from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import _network_host, _programs


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={"interfaces": {"type": "list", "elements": "str", "required": True}},
        supports_check_mode=True,
    )
    # What programs say is compared with English words.
    module.run_command_environ_update = {"LC_ALL": "C"}

    run = _programs.runner(module)
    try:
        module.exit_json(changed=False, facts=_network_host.facts(run, module.params["interfaces"]))
    except _network_host.ChangeFailed as failed:
        module.fail_json(msg=str(failed))


if __name__ == "__main__":
    main()
