# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The action shows on the controller what its module says; the rest is that of all actions that wait so."""

from __future__ import annotations

import pytest

from ansible_collections.samewire.vllm.plugins.action import weights_receive
from tests.unit.background_actions import GOES_ON, Run


def test_it_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(monkeypatch, weights_receive.ActionModule)
    run(
        {"job": "/tmp/job"},
        {**GOES_ON, "over": True, "progress": "receiving weights, 1.2 of 4.9 GB"},
    )
    assert [line.rpartition(" (")[0] for line in run.shown] == [
        "node1: receiving weights, 1.2 of 4.9 GB"
    ]
