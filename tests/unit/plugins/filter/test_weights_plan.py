# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What each host has of the weights to plain values, which Ansible can keep."""

from __future__ import annotations

import json

from ansible_collections.samewire.vllm.plugins.filter.weights_plan import weights_plan
from tests.unit.plugins.module_utils.test_weights_plan import FILES, NONE, has


def test_a_decision_is_plain() -> None:
    decided = weights_plan({"head": has(), "a": NONE}, "/models/m", "/models/m", head="head")
    assert json.loads(json.dumps(decided)) == {
        "source": "head",
        "size": 4_000_000_010,
        "receivers": {"a": {"files": FILES, "size": 4_000_000_010}},
        "notes": ["a: receives 4.0 GB of weights in 2 files from head over the interconnect"],
        "problems": [],
    }
