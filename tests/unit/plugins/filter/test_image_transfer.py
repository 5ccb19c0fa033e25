# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The speed of the link that the plan chose decides whether an image goes compressed."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.filter import image_transfer

PLAN = {"hosts": {host: {"interface": "fabric0"} for host in ("node0", "node1")}}
FOUND = {"node0": {"image": {"Id": "sha256:aa", "Size": 5_000_000}}, "node1": {"image": {}}}


def facts(speed: int | None) -> dict[str, Any]:
    other = {"name": "lan0", "speed_mbps": 10}
    own = {"name": "fabric0", **({"speed_mbps": speed} if speed else {})}
    return {"interfaces": [other, own]}


@pytest.mark.parametrize(("speed", "compress"), [(100, True), (100_000, False), (None, False)])
def test_speed(speed: int | None, compress: bool) -> None:
    decided = image_transfer.image_transfer(
        FOUND, "i:1", "node0", "head", {"node0": facts(100_000), "node1": facts(speed)}, PLAN
    )
    assert decided == {
        "receivers": ["node1"],
        "compress": compress,
        "notes": [
            "node1: receives image i:1 (5.0 MB) from node0 over the interconnect, since "
            "container_image_distribution is head"
        ],
        "problems": [],
    }


def test_without_a_plan_nothing_is_known() -> None:
    found = {"node0": FOUND["node0"]}
    decided = image_transfer.image_transfer(found, "i:1", "node0", "auto", {}, {})
    assert decided == {"receivers": [], "compress": False, "notes": [], "problems": []}
