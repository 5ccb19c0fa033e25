# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What may not be started, stopped or removed."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _lifecycle
from tests.unit.observed import container, node

GONE = {"ray": None, "vllm": None}
FOREIGN = {"ray": container(own=False, label=None), "vllm": None}


def problems(goal: str, head: dict[str, Any], worker: dict[str, Any]) -> list[str]:
    nodes = {"spark1": worker, "spark0": head}
    return _lifecycle.lifecycle_problems(nodes, "pair", "spark0", goal)


@pytest.mark.parametrize("goal", _lifecycle.GOALS)
def test_a_deployed_cluster_may_be_all(goal: str) -> None:
    assert problems(goal, node("spark0"), node("spark1")) == []


@pytest.mark.parametrize("goal", [_lifecycle.STOPPED, _lifecycle.ABSENT])
def test_what_is_not_there_needs_no_stop(goal: str) -> None:
    assert problems(goal, node("spark0", containers=GONE), node("spark1", containers=GONE)) == []


def test_what_was_never_deployed_cannot_start() -> None:
    said = (
        "expected the one of a deployment; run samewire deploy (or the playbook samewire.vllm.deploy) "
        "first"
    )
    assert problems(
        _lifecycle.STARTED, node("spark0", containers=GONE), node("spark1", containers=GONE)
    ) == [
        f"spark0: has no container pair-ray, {said}",
        f"spark0: has no container pair-vllm, {said}",
        f"spark1: has no container pair-ray, {said}",
    ]


@pytest.mark.parametrize("goal", _lifecycle.GOALS)
def test_the_container_of_somebody_else_is_left_alone(goal: str) -> None:
    assert problems(goal, node("spark0"), node("spark1", containers=FOREIGN)) == [
        "spark1: container pair-ray is not Samewire's: expected the label samewire.cluster=pair, got one "
        "without that label; rename the cluster, or rename or remove that container"
    ]


@pytest.mark.parametrize("goal", _lifecycle.GOALS)
def test_without_an_engine_nothing_is_known(goal: str) -> None:
    silent = node("spark1", docker={"version": None, "reason": "/s does not exist"})
    assert problems(goal, node("spark0"), silent) == [
        "spark1: Docker does not answer (/s does not exist), expected an engine; start it"
    ]


def test_without_ray_every_host_needs_its_part_of_the_server() -> None:
    alone = {"ray": None, "vllm": container(executor="mp")}
    head = node("spark0", containers=alone)
    assert problems(_lifecycle.STARTED, head, node("spark1", containers=alone)) == []
    assert problems(_lifecycle.STARTED, head, node("spark1", containers=GONE)) == [
        "spark1: has no container pair-vllm, expected the one of a deployment; run samewire deploy (or the "
        "playbook samewire.vllm.deploy) first"
    ]
