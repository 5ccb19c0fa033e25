# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Hosts that have left, and addresses that have moved, since the last deployment."""

from __future__ import annotations

import copy

from ansible_collections.samewire.vllm.plugins.module_utils import _last_deployment
from tests.unit.plans import plan


def test_connections_hold_no_password() -> None:
    variables = {
        "spark0": {
            "ansible_host": "10.1.0.1",
            "ansible_password": "p",
            "ansible_become_password": "p",
            "ansible_user": "root",
            "vllm_server_api_key": "k",
        },
        "other": {"ansible_host": "10.1.0.9"},
    }
    assert _last_deployment.connections(variables, {"spark0": "/srv"}) == {
        "spark0": {"ansible_host": "10.1.0.1", "ansible_user": "root", "ray_node_directory": "/srv"}
    }


def test_former_hosts() -> None:
    recorded = {
        "c": {"ansible_host": "10.1.0.3"},
        "b": {"ansible_host": "10.1.0.2"},
        "a": {"ansible_host": "10.1.0.1"},
    }
    assert _last_deployment.former_hosts(recorded, ["a", "d"]) == [
        {"name": "b", "variables": {"ansible_host": "10.1.0.2"}},
        {"name": "c", "variables": {"ansible_host": "10.1.0.3"}},
    ]
    assert _last_deployment.former_hosts({}, ["a"]) == []


def test_an_address_that_moved_is_named() -> None:
    now = plan()
    before = copy.deepcopy(now)
    assert _last_deployment.moved_addresses(now, before) == []
    before["hosts"]["spark1"]["address"] = "192.168.200.99"
    assert _last_deployment.moved_addresses(now, before) == [
        "spark1: the interconnect is 192.168.200.13 on enp1s0f1np1, was 192.168.200.99 on enp1s0f1np1 at the "
        "last deployment; its containers are made anew, and a fixed address would spare that"
    ]


def test_nothing_on_record_and_new_hosts_are_no_news() -> None:
    assert _last_deployment.moved_addresses(plan(), {}) == []
    before = plan()
    del before["hosts"]["spark1"]
    assert _last_deployment.moved_addresses(plan(), before) == []
