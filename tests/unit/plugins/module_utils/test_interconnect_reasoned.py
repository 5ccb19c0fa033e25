# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The planner on hosts that nobody described: tests/corpus/reasoned argues each answer in `because`."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ansible_collections.samewire.vllm.plugins.module_utils import _interconnect, _topology

CASES = sorted(Path(__file__).parents[3].joinpath("corpus", "reasoned").glob("*.yml"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case_is_planned_as_argued(path: Path) -> None:
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    plan = _interconnect.to_json(_interconnect.plan(_topology.parse_cluster(case)))
    expected = case["expected"]
    if "error" in expected:
        assert plan.get("error", plan)["code"] == expected["error"]
        return
    assert "error" not in plan
    got = {
        name: {
            "interface": entry["interface"],
            "address": entry["address"],
            "hcas": sorted(hca.partition(":")[0] for hca in entry["hcas"]),
            "gid_index": entry["gid_index"],
        }
        for name, entry in plan["hosts"].items()
    }
    wanted = {
        name: {**got[name], **entry, "hcas": sorted(entry.get("hcas", got[name]["hcas"]))}
        for name, entry in expected.items()
        if name != "warnings"
    }
    assert got == wanted
    assert set(expected.get("warnings", [])) <= {each["code"] for each in plan["warnings"]}
