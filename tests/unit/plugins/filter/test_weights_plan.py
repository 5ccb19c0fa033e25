# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What each host has of the weights to plain values, which Ansible can keep."""

from __future__ import annotations

import json

from ansible_collections.samewire.vllm.plugins.filter.weights_plan import weights_plan
from tests.unit.plugins.module_utils.test_weights_plan import DOWNLOAD, FILES, NONE, has


def test_a_decision_is_plain() -> None:
    decided = weights_plan({"head": has(), "a": NONE}, "/models/m", "/models/m", head="head")
    assert json.loads(json.dumps(decided)) == {
        "source": "head",
        "size": 4_000_000_010,
        "receivers": {
            "a": {
                "files": {
                    name: {"size": entry["size"], "hash": entry["hash"]}
                    for name, entry in FILES.items()
                },
                "size": 4_000_000_010,
            }
        },
        "notes": ["a: receives 4.0 GB of weights in 2 files from head over the interconnect"],
        "problems": [],
        "flaws": [],
        "settled": False,
        "model": {
            "config": None,
            "files": {"config.json": {"size": 10}, "model.safetensors": {"size": 4_000_000_000}},
        },
    }


def test_a_download_is_judged_where_no_host_has_the_model() -> None:
    asked = {"model": "o/m", "path": "/models/m", "head": "head"}
    assert weights_plan({"head": NONE}, **asked)["problems"] == []
    poor = {"head": {**NONE, "free": 0}}
    assert len(weights_plan(poor, **asked, download=DOWNLOAD)["problems"]) == 1
    # What a host has needs no hub.
    assert weights_plan({"head": has()}, **asked, download=DOWNLOAD)["source"] == "head"
