# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the last deployment of a cluster left on record, held against this one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

# How Ansible connects to a host; none of these holds a password.
_CONNECTION = (
    "ansible_become",
    "ansible_become_method",
    "ansible_become_user",
    "ansible_connection",
    "ansible_host",
    "ansible_port",
    "ansible_private_key_file",
    "ansible_python_interpreter",
    "ansible_ssh_common_args",
    "ansible_ssh_extra_args",
    "ansible_ssh_private_key_file",
    "ansible_user",
)


def connections(
    variables: Mapping[str, Mapping[str, Any]], directories: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Return what a later run needs to reach the hosts, without secrets.

    variables: of each host, as Ansible's hostvars; directories: where each host keeps its clusters' files.
    """
    return {
        host: {
            **{name: variables[host][name] for name in _CONNECTION if name in variables[host]},
            "ray_node_directory": directories[host],
        }
        for host in sorted(directories)
    }


def former_hosts(
    recorded: Mapping[str, Mapping[str, Any]], hosts: Collection[str]
) -> list[dict[str, Any]]:
    """Return name and variables of the hosts that have left the cluster, in order of name."""
    return [
        {"name": host, "variables": dict(recorded[host])}
        for host in sorted(set(recorded) - set(hosts))
    ]


def moved_addresses(plan: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each host that has moved on the interconnect; before: the recorded plan."""
    said = []
    old = before.get("hosts") or {}
    for host, now in sorted(plan["hosts"].items()):
        then = old.get(host)
        if not then or (now["address"], now["interface"]) == (then["address"], then["interface"]):
            continue
        said.append(
            f"{host}: the interconnect is {now['address']} on {now['interface']}, was {then['address']} on "
            f"{then['interface']} at the last deployment; its containers are made anew, and a fixed address "
            "would spare that"
        )
    return said
