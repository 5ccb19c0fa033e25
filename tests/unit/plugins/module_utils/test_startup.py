# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""How far a start is, on the log of a real one and on lines of other releases."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _startup

LOG = pathlib.Path(__file__).parent / "data/startup-two-hosts.log"


def test_a_real_start_passes_its_phases_in_order() -> None:
    progress = _startup.Progress()
    seen = []
    for line in LOG.read_text(encoding="utf-8").splitlines():
        progress = _startup.follow([line], progress)
        if not seen or seen[-1] != progress.text():
            seen.append(progress.text())
    assert seen == [
        "waiting for the nodes 10.213.2.13 has not joined",
        "starting the API server",
        "reading the model's configuration",
        "starting the engine",
        "connecting to Ray",
        "placing the ranks",
        "loading weights 0/1",
        "loading weights 1/1, 00:00 left",
        "loading weights",
        "weights loaded",
        "sizing the KV cache",
        "warming up",
        "opening the API",
        "ready",
    ]
    assert _startup.standing(progress) == "ranks 0, 1: sizing the KV cache"


@pytest.mark.parametrize(
    ("lines", "text", "fraction"),
    [
        (
            [
                "Loading safetensors checkpoint shards:  31% Completed | 12/39 [00:40<01:20,  2.96s/it]"
            ],
            "loading weights 12/39, 01:20 left",
            12 / 39,
        ),
        (
            ["Loading safetensors checkpoint shards:   0% Completed | 0/39 [00:00<?, ?it/s]"],
            "loading weights 0/39",
            0,
        ),
        (
            [
                "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  50%|█████     | 9/18 [00:01]"
            ],
            "capturing CUDA graphs 50%",
            0.5,
        ),
        (
            [
                "Waiting for creating a placement group of specs for 70 seconds. "
                "specs=[{'GPU': 1.0, 'node:10.1.230.180': 0.001}, {'GPU': 1.0}]."
            ],
            "placing the ranks for 70 seconds",
            None,
        ),
        (
            [
                "(Worker pid=1) INFO 11-30 12:06:32 [parallel_state.py:1906] world_size=4 rank=2 "
                "local_rank=0 distributed_init_method=tcp://10.213.2.12:41675 backend=nccl"
            ],
            "joining the ranks 1/4",
            None,
        ),
        (["Enforce eager set, disabling torch.compile, CUDAGraphs"], "starting", None),
    ],
)
def test_lines(lines: list[str], text: str, fraction: float | None) -> None:
    progress = _startup.follow(lines)
    assert (progress.text(), progress.fraction) == (text, fraction)


def test_where_the_ranks_stand() -> None:
    progress = _startup.follow(
        [
            "world_size=3 rank=0 local_rank=0",
            "world_size=3 rank=1 local_rank=0",
            "world_size=3 rank=2 local_rank=0",
            "(Worker_TP2 pid=9) INFO 11-30 12:06:32 [default_loader.py:501] Loading weights took 0.1 seconds",
        ]
    )
    assert _startup.standing(progress) == "ranks 0, 1: joining the ranks; rank 2: weights loaded"


def test_a_start_that_waits_for_ranks_has_not_joined() -> None:
    waiting = _startup.follow(["world_size=2 rank=0 local_rank=0"])
    assert not _startup.joined(waiting)
    assert _startup.joined(_startup.follow(["Starting to load model /models/tiny..."], waiting))
