#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: ask the other hosts over the new addresses with packets of full size; changes nothing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: network_setup_ping
short_description: Ask other hosts over one interface with packets of full size that must not be split
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Pings all targets at once, with the don't-fragment bit and as many bytes as the MTU of the interface
    takes.
attributes:
  check_mode:
    description: Can run in check mode; it never changes anything.
    support: full
options:
  host:
    description: Name of the host that asks.
    type: str
    required: true
  targets:
    description: Whom to ask.
    type: list
    elements: dict
    required: true
    suboptions:
      host:
        description: Name of the other host.
        type: str
        required: true
      address:
        description: Its address.
        type: str
        required: true
      interface:
        description: Interface of this host that leads there.
        type: str
        required: true
"""

EXAMPLES = r"""
- name: Ask the other host
  samewire.vllm.network_setup_ping:
    host: spark0
    targets: [{host: spark1, address: 192.168.200.13, interface: enp1s0f0np0}]
  become: true
  register: network
  until: network.problems | length == 0
"""

RETURN = r"""
problems:
  description: One sentence for each target that does not answer.
  returned: always
  type: list
  elements: str
"""

from concurrent.futures import ThreadPoolExecutor

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import _network_host, _network_setup

AT_ONCE = 64


def main() -> None:
    """Run the module."""
    target = {"type": "str", "required": True}
    options = {"host": target, "address": target, "interface": target}
    module = AnsibleModule(
        argument_spec={
            "host": {"type": "str", "required": True},
            "targets": {"type": "list", "elements": "dict", "required": True, "options": options},
        },
        supports_check_mode=True,
    )
    ping = module.get_bin_path("ping", required=True)

    def problem(each: dict[str, str]) -> str | None:
        mtu, said = _network_host.ping(ping, each["address"], each["interface"])
        if said is None:
            return None
        return _network_setup.unanswered(
            module.params["host"], each["host"], each["address"], each["interface"], mtu, said
        )

    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(problem, module.params["targets"]))
    module.exit_json(changed=False, problems=[each for each in found if each])


if __name__ == "__main__":
    main()
