# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a container of vLLM runs before vllm serve."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.filter.server_entry import server_entry
from tests.unit.plans import plan

GPUS = {"spark0": "1", "spark1": 1}


def entry(host: str, executor: str = "mp", *, gpus: dict[str, Any] = GPUS, family: int = 4) -> str:
    said = server_entry(plan(family=family), host, "spark0", gpus, executor, "29501")
    return " ".join(said)


def test_on_ray_it_waits_for_the_nodes() -> None:
    assert entry("spark0", "ray") == (
        "python /samewire/cluster_nodes.py wait --expect 192.168.200.12=1,192.168.200.13=1 --timeout 0 --"
    )


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("spark0", "lead --listen 192.168.200.12:29502 --expect 192.168.200.13 --"),
        ("spark1", "follow --head 192.168.200.12:29502 --own 192.168.200.13 --"),
    ],
)
def test_without_ray_the_parts_wait_for_each_other(host: str, said: str) -> None:
    assert entry(host) == f"python /samewire/ranks.py {said}"


def test_a_head_alone_waits_for_nobody() -> None:
    assert entry("spark0", gpus={"spark0": 1}).endswith("lead --listen 192.168.200.12:29502 --")


def test_an_address_of_ipv6_stands_in_brackets() -> None:
    assert "--head [fd00:" in entry("spark1", family=6)
