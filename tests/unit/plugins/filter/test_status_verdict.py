# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The filter; the states are in the tests of _status."""

from __future__ import annotations

import json

from ansible_collections.samewire.vllm.plugins.filter.status_verdict import status_verdict
from tests.unit.observed import RECORD, node
from tests.unit.plans import plan


def test_status_verdict_is_plain_data() -> None:
    seen = {
        "spark0": {"changed": False, "node": node("spark0")},
        "spark1": {"unreachable": True, "msg": "via ssh: timed out"},
    }
    found = status_verdict(seen, "pair", "spark0", plan(), RECORD, 1800, "2026-11-30T13:02:05Z")
    assert found["status"]["verdict"] == "degraded"
    assert found["report"][0].startswith("pair: degraded: spark1: cannot be looked at: timed out; ")
    assert json.loads(json.dumps(found)) == found
