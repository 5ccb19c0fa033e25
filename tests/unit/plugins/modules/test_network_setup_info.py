# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What is read of this machine; tests/netns/test_network_setup.py has it judged."""

from __future__ import annotations

import shutil

import pytest

from tests.unit.modules import run_module


@pytest.mark.skipif(shutil.which("ip") is None, reason="iproute2 is not installed")
def test_the_loopback_of_this_machine() -> None:
    facts = run_module("network_setup_info", interfaces=["lo"])["facts"]
    link = facts["links"]["lo"]
    assert (link["up"], link["mac"]) == (True, "00:00:00:00:00:00")
    assert "127.0.0.1/8" in link["addresses"]
    assert "lo" not in [interface for interface, _ in facts["networks"]]
    assert facts["manager"] in {"netplan", "NetworkManager", "ifupdown", "ip"}
