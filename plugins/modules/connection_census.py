#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: the established TCP connections of a host; changes nothing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: connection_census
short_description: List the established TCP connections of a host
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Reads the kernel's table of sockets in the host's own network, where containers of the cluster live too.
    Connections within the host over loopback are left out.
attributes:
  check_mode:
    description: Can run in check mode; it never changes anything.
    support: full
options:
  exclude_ports:
    description: Connections that have one of these ports at either end are left out, as ssh of an operator.
    type: list
    elements: int
    default: [22]
"""

EXAMPLES = r"""
- name: Read the connections
  samewire.vllm.connection_census:
  register: census
"""

RETURN = r"""
connections:
  description: The connections, in order.
  returned: always
  type: list
  elements: dict
  sample:
    - {local: 192.168.200.12, local_port: 6379, remote: 192.168.200.13, remote_port: 40312}
pending:
  description: Connections that this host asked for and that nobody has answered yet, in the same form.
  returned: always
  type: list
  elements: dict
"""

import ipaddress
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import _sockets


def connections(state: str, excluded: set[int]) -> list[dict[str, Any]]:
    """Return the connections of this host in a state, but those within the host and of some ports."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, encoding="ascii") as file:
                sockets = _sockets.parse(file)
        except OSError:
            continue
        for entry in sockets:
            ends = (entry.local, entry.local_port, entry.remote, entry.remote_port)
            if entry.state != state or {ends[1], ends[3]} & excluded:
                continue
            if not ipaddress.ip_address(entry.remote).is_loopback:
                found.add(ends)
    names = ("local", "local_port", "remote", "remote_port")
    return [dict(zip(names, ends)) for ends in sorted(found)]


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "exclude_ports": {"type": "list", "elements": "int", "default": [22]},
        },
        supports_check_mode=True,
    )
    excluded = set(module.params["exclude_ports"])
    module.exit_json(
        changed=False,
        connections=connections(_sockets.ESTABLISHED, excluded),
        pending=connections(_sockets.SYN_SENT, excluded),
    )


if __name__ == "__main__":
    main()
