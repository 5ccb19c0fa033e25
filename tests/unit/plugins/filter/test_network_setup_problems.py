# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The judgement as plain data; what it says is in the tests of _network_setup."""

from __future__ import annotations

from typing import Any

from ansible_collections.samewire.vllm.plugins.filter.network_setup_problems import (
    network_setup_problems,
)

FACTS: dict[str, Any] = {"spark1": {"ssh": "", "made": {"eth1": ["10.9.0.1/24"]}}}


def test_entries_are_judged_before_the_host_is() -> None:
    assert network_setup_problems(FACTS, {"spark1": ["eth1"]}, {"spark1": ""}, 60) == [
        "spark1: interconnect_network_setup_links holds 'eth1', expected interface, address and, where it is "
        "to be set, mtu; correct it in the inventory"
    ]


def test_what_is_to_be_removed_needs_no_entries() -> None:
    assert network_setup_problems(FACTS, {"spark1": ["eth1"]}, {"spark1": ""}, 60, "absent") == []
    reached = network_setup_problems(FACTS, {"spark1": []}, {"spark1": "10.9.0.1"}, 60, "absent")
    assert len(reached) == 1
