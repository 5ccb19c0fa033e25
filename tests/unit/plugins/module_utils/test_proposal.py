# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Which parallel sizes a new inventory begins with."""

from __future__ import annotations

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _proposal, _shape


@pytest.mark.parametrize(
    ("gpus", "rdma", "tensor", "pipeline"),
    [
        ([1, 1], True, 2, 1),
        ([1, 1], False, 1, 2),
        ([1, 1, 1], True, 1, 3),
        ([1, 1, 1, 1], False, 1, 4),
        ([8, 8], True, 8, 2),
        ([8, 4], True, 4, 3),
        ([6, 6], True, 2, 6),
        ([1], False, 1, 1),
        ([4], False, 4, 1),
    ],
)
def test_sizes_use_all_gpus(gpus: list[int], rdma: bool, tensor: int, pipeline: int) -> None:
    hosts = {f"spark{number}": count for number, count in enumerate(gpus)}
    made = _proposal.propose(hosts, rdma=rdma)
    assert made
    assert (made.sizes.tensor, made.sizes.pipeline) == (tensor, pipeline)
    assert made.sizes.world == sum(gpus)
    assert _shape.problems(made.sizes, hosts, "spark0") == []


def test_nothing_is_proposed_where_a_host_has_no_gpu() -> None:
    assert _proposal.propose({"spark0": 1, "spark1": 0}, rdma=True) is None
    assert _proposal.propose({}, rdma=True) is None


def test_reasons() -> None:
    made = _proposal.propose({"a": 8, "b": 8}, rdma=True)
    assert made
    assert (made.tensor_because, made.pipeline_because) == (
        "each host has 8 GPUs for a stage, so no layer waits for the wire",
        "16 GPUs in all make 2 stages of 8",
    )
