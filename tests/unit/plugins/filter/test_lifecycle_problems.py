# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The filter; the sentences are in the tests of _lifecycle."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter.lifecycle_problems import lifecycle_problems
from tests.unit.observed import node


def test_lifecycle_problems() -> None:
    nodes = {"spark0": node("spark0", containers={"ray": None, "vllm": None})}
    assert len(lifecycle_problems(nodes, "pair", "spark0", "started")) == 2
    assert lifecycle_problems(nodes, "pair", "spark0", "stopped") == []
