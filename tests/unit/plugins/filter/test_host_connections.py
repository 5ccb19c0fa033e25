# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""How hosts are reached, from values as Ansible hands them over."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter import host_connections


def test_host_connections_of_the_hosts_with_a_directory() -> None:
    variables = {"a": {"ansible_port": 2222}, "localhost": {}}
    assert host_connections.host_connections(variables, {"a": "/srv"}) == {
        "a": {"ansible_port": 2222, "ray_node_directory": "/srv"}
    }
