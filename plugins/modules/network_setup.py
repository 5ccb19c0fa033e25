#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: the addresses and MTUs of the fabric's interfaces on one host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: network_setup
short_description: Give interfaces of the fabric their addresses and MTUs on one host
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Writes a file of its own for netplan, NetworkManager or ifupdown, applies it, and touches no other file.
    With O(manager=ip) the interfaces have it until the next boot.
  - A change must be confirmed with O(state=confirmed) in time, or a process that it leaves on the host takes
    all of it back.
  - Keeps what it made in C(/etc/samewire/network_setup.json), so that O(state=absent) takes that away and
    nothing else.
  - It judges nothing; P(samewire.vllm.network_setup_problems#filter) does, for all hosts together.
  - Needs root.
requirements:
  - iproute2 4.17 or later on the host.
attributes:
  check_mode:
    description: Says what would change.
    support: full
  diff_mode:
    description: Shows the files, addresses and MTUs that change.
    support: full
options:
  host:
    description: Name of the host, for messages.
    type: str
    required: true
  state:
    description: Whether the interfaces are to have the addresses, are not to, or a change is to stay.
    type: str
    choices: [present, absent, confirmed]
    default: present
  links:
    description: Addresses with prefix, each with its interface and, where it is to be set, the MTU in bytes.
    type: list
    elements: dict
    default: []
    suboptions:
      interface:
        description: Name of the interface.
        type: str
        required: true
      address:
        description: Address with its prefix.
        type: str
        required: true
      mtu:
        description: MTU in bytes.
        type: int
  manager:
    description: Who gives interfaces their addresses on this host.
    type: str
    choices: [netplan, NetworkManager, ifupdown, ip]
    default: ip
  rollback:
    description: Seconds until a change that is not confirmed is taken back.
    type: int
    default: 60
  key:
    description: What the change returned; needed where O(state=confirmed).
    type: str
"""

EXAMPLES = r"""
- name: Give the interface its address
  samewire.vllm.network_setup:
    host: spark0
    manager: netplan
    links: [{interface: enp1s0f0np0, address: 192.168.200.12/24, mtu: 9000}]
  become: true
  register: network

- name: Let it stay
  samewire.vllm.network_setup:
    host: spark0
    state: confirmed
    key: "{{ network.key }}"
  become: true
  when: network.key | length > 0
"""

RETURN = r"""
key:
  description: What confirms the change; empty where there is nothing to confirm.
  returned: always
  type: str
"""

import socket
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import (
    _network_change,
    _network_host,
    _network_setup,
    _programs,
)


def _shown(state: _network_change.State) -> str:
    """Return what a person compares: the links, and all files but the record."""
    lines = []
    for name, link in sorted(state.links.items()):
        lines.append(f"{name} mtu {link.mtu} {' '.join(sorted(link.addresses))}".rstrip() + "\n")
    for path, text in sorted(state.files.items()):
        if path != _network_change.RECORD:
            lines.append(f"--- {path}\n{text}")
    return "".join(lines)


def _confirm(key: str) -> None:
    if not _network_host.confirm(key):
        raise _network_host.ChangeFailed(
            "the change is not there any more, expected it to be confirmed in time; the host has what it had "
            "before, run it again with a longer interconnect_network_setup_rollback"
        )


def _change(module: AnsibleModule, bell: socket.socket) -> dict[str, Any]:
    given = module.params
    absent = given["state"] == "absent"

    run = _programs.runner(module)
    wanted, problems = _network_setup.parse(given["host"], [] if absent else given["links"])
    if problems:
        module.fail_json(msg="\n".join(problems))
    setups = _network_setup.setups(wanted)
    record = _network_change.parse_record(_network_host.read(_network_change.RECORD))
    here = _network_host.state(
        run,
        record,
        _network_change.paths(record, given["manager"], setups),
        {each.interface for each in (*record.setups, *setups)},
    )
    there = _network_change.target(record, given["manager"], setups, here)
    if _network_change.same(here, there):
        return {"changed": False, "key": ""}
    key = ""
    if absent and not module.check_mode:
        _network_host.step(run, here, there)
    elif not module.check_mode:
        key = _network_host.watched(run, bell, here, there, given["rollback"])
    return {
        "changed": True,
        "key": key,
        "diff": {"before": _shown(here), "after": _shown(there)},
    }


def main() -> None:
    """Run the module."""
    links = {
        "interface": {"type": "str", "required": True},
        "address": {"type": "str", "required": True},
        "mtu": {"type": "int"},
    }
    module = AnsibleModule(
        argument_spec={
            "host": {"type": "str", "required": True},
            "state": {
                "type": "str",
                "choices": ["present", "absent", "confirmed"],
                "default": "present",
            },
            "links": {"type": "list", "elements": "dict", "default": [], "options": links},
            "manager": {
                "type": "str",
                "choices": ["netplan", "NetworkManager", "ifupdown", "ip"],
                "default": "ip",
            },
            "rollback": {"type": "int", "default": 60},
            # It opens nothing that root on the host could not open anyway.
            "key": {"type": "str", "no_log": False},
        },
        required_if=[("state", "confirmed", ["key"])],
        supports_check_mode=True,
    )
    module.run_command_environ_update = {"LC_ALL": "C"}
    try:
        if module.params["state"] == "confirmed":
            _confirm(module.params["key"])
            module.exit_json(changed=False, key="")
        with _network_host.alone() as bell:
            result = _change(module, bell)
    except _network_host.ChangeFailed as failed:
        module.fail_json(msg=f"{module.params['host']}: {failed}")
    module.exit_json(**result)


if __name__ == "__main__":
    main()
