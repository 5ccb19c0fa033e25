# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Hosts that have left, from values as Ansible hands them over."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter import former_hosts


def test_former_hosts_keeps_how_to_reach_them() -> None:
    assert former_hosts.former_hosts({"a": {}, "b": {"ansible_port": 2222}}, ["a"]) == [
        {"name": "b", "variables": {"ansible_port": 2222}}
    ]
