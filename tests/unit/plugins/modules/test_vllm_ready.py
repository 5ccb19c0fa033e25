# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Waiting for a server that never was."""

from __future__ import annotations

import socket

from tests.unit.modules import run_module


def test_vllm_ready_waits_for_nothing_in_check_mode() -> None:
    assert (
        run_module("vllm_ready", check=True, container="c", url="http://127.0.0.1:1")["changed"]
        is False
    )


def test_vllm_ready_without_an_engine_says_so() -> None:
    found = run_module("vllm_ready", container="c", url="http://127.0.0.1:1")
    assert found["failed"] is True
    assert (
        found["msg"] == f"{socket.gethostname()}: Docker does not answer (/nowhere does not exist)"
    )
