# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the module refuses; tests/netns/test_network_setup.py has it work on the kernel."""

from __future__ import annotations

from tests.unit.modules import run_module


def test_entries_that_say_nothing() -> None:
    said = run_module(
        "network_setup",
        check=True,
        host="node0",
        links=[{"interface": "a b", "address": "10.9.0.1/24"}],
    )
    assert said["msg"] == (
        "node0: interconnect_network_setup_links holds interface 'a b', expected the name of an interface of "
        "at most 15 letters, digits, '_', '.' and '-'; correct it in the inventory"
    )


def test_a_change_that_is_not_there_cannot_be_confirmed() -> None:
    said = run_module("network_setup", host="node0", state="confirmed", key="0")
    assert said["msg"] == (
        "node0: the change is not there any more, expected it to be confirmed in time; the host has what it "
        "had before, run it again with a longer interconnect_network_setup_rollback"
    )
