# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What is said of an address that does not answer; in the tests of tests/netns others do answer."""

from __future__ import annotations

import os
import shutil

import pytest

from tests.unit.modules import run_module


@pytest.mark.skipif(shutil.which("ping") is None, reason="ping is not installed")
@pytest.mark.skipif(os.geteuid() != 0, reason="to send by one interface needs root")
def test_loopback_answers_and_an_interface_that_is_not_there_does_not() -> None:
    here = {"host": "node1", "address": "127.0.0.1", "interface": "lo"}
    gone = {"host": "node1", "address": "127.0.0.1", "interface": "gone0"}
    (problem,) = run_module("network_setup_ping", host="node0", targets=[here, gone])["problems"]
    assert problem.startswith(
        "node0 to node1: 127.0.0.1 does not answer to a packet of 0 bytes over gone0 (ping: "
    )
