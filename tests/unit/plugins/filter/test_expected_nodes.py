# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The nodes that Ray must have, from values as Ansible hands them over."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter import expected_nodes
from tests.unit.plans import plan


def test_expected_nodes_takes_numbers_as_text() -> None:
    gpus = {"spark0": "1", "spark1": 1}
    assert expected_nodes.expected_nodes(plan(), gpus) == "192.168.200.12=1,192.168.200.13=1"
