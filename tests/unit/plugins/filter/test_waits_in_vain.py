# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a silent start waits for, from facts and connections as Ansible hands them over."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter import waits_in_vain
from tests.unit.plans import plan

FACTS = {
    "spark0": {"interfaces": [{"name": "enP7s7", "addresses": ["10.1.230.180/24"]}]},
    "spark1": {"interfaces": [{"name": "enP7s7", "addresses": ["10.1.230.181/24"]}, {"name": "x"}]},
}
ASKED = {"local": "10.1.230.181", "local_port": 1, "remote": "10.1.230.180", "remote_port": 2}


def test_the_member_is_named() -> None:
    (sentence,) = waits_in_vain.waits_in_vain(plan(), FACTS, {"spark1": [ASKED]})
    assert sentence.startswith(
        "spark1: waits in vain for spark0 at 10.1.230.180 (from 10.1.230.181)"
    )


def test_without_a_plan_nothing_can_be_said() -> None:
    assert waits_in_vain.waits_in_vain({}, FACTS, {"spark1": [ASKED]}) == []
