# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A plan in one line."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter.plan_summary import plan_summary
from tests.unit.plans import plan


def test_a_pair() -> None:
    assert plan_summary(plan("rdma")) == (
        "wire: 192.168.200.0/24, RDMA, MTU 9000: spark0 192.168.200.12 on enp1s0f0np0 with rocep1s0f0:1, "
        "roceP2p1s0f0:1; spark1 192.168.200.13 on enp1s0f1np1 with rocep1s0f1:1"
    )
    assert plan_summary(plan()) == (
        "wire: 192.168.200.0/24, TCP sockets, MTU 9000: spark0 192.168.200.12 on enp1s0f0np0; spark1 "
        "192.168.200.13 on enp1s0f1np1"
    )


def test_many_hosts_and_what_is_not_stated() -> None:
    made = plan()
    entry = {"address": None, "interface": "eth1", "hcas": []}
    made["hosts"] = {f"n{number}": entry for number in range(32)}
    made["network"] |= {"cidr": None, "mtu": None}
    assert plan_summary(made) == (
        "wire: a network that is not stated, TCP sockets: n0 address not stated on eth1; n1 address not "
        "stated on eth1; n2 address not stated on eth1; n3 address not stated on eth1; and 28 more"
    )


def test_an_error() -> None:
    assert plan_summary({"schema": "samewire.plan/1", "error": {"code": "ambiguous"}}) == ""
