# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The result of an exec that printed nothing still gives a sentence."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter.nodes_problem import FilterModule


def test_a_sentence() -> None:
    tell = FilterModule().filters()["nodes_problem"]
    waited = {"rc": 1, "stderr": "samewire: box: no Ray head answers at 10.0.0.1:6379 after 9 s"}
    plan = {"hosts": {"node0": {"address": "10.0.0.1"}}}
    assert tell(waited, plan, "node0") == "node0: no Ray head answers at 10.0.0.1:6379 after 9 s"
