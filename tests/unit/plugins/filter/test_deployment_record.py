# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The record, from values as Ansible hands them over."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter import deployment_record
from tests.unit.plans import plan


def test_deployment_record_takes_numbers_as_text() -> None:
    record = deployment_record.deployment_record(
        plan(family=6),
        head="spark0",
        api_host="fd00::180",
        api_port="8000",
        api_tls=True,
        model="qwen",
        image={},
        gpus={"spark0": "1", "spark1": 1},
        executor="mp",
        versions={},
        completion={},
        presets={"spark0": "dgx-spark", "spark1": "generic"},
        proven_at="2026-01-01T00:00:00Z",
    )
    assert record["url"] == "https://[fd00::180]:8000"
    assert record["executor"] == "mp"
    assert record["nodes"]["spark0"]["gpus"] == 1
    assert record["nodes"]["spark1"]["preset"] == "generic"
