# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Where ranks run, what crosses the wire, and the sentences about sizes that cannot be."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.samewire.vllm.plugins.module_utils import _shape
from tests.unit.plugins.module_utils.test_model import published

PAIR = {"node0": 1, "node1": 1}
EIGHTS = {"node0": 8, "node1": 8}
MEET = ("--master-addr", "192.0.2.10", "--master-port", "29501")
Sizes = _shape.Sizes


def hosts(sizes: Sizes, gpus: dict[str, int], head: str = "node0") -> list[str]:
    return [rank.host for rank in _shape.place(sizes, gpus, head)]


@pytest.mark.parametrize(
    ("sizes", "gpus", "expected"),
    [
        (Sizes(), PAIR, "0"),
        (Sizes(tensor=2), PAIR, "01"),
        (Sizes(tensor=2, pipeline=2), {"node0": 2, "node1": 2}, "0011"),
        (Sizes(data=2), {"node0": 2, "node1": 2}, "01"),
        (Sizes(data=3), {"node0": 2, "node1": 2}, "001"),
        (Sizes(tensor=2, data=2), {"node0": 2, "node1": 1, "node2": 2}, "0022"),
        (Sizes(tensor=4), {"node0": 1, "node1": 1}, ""),
        (Sizes(tensor=2, data=2), {"node0": 1, "node1": 4}, ""),
    ],
)
def test_the_host_of_each_rank(sizes: Sizes, gpus: dict[str, int], expected: str) -> None:
    assert hosts(sizes, gpus) == [f"node{number}" for number in expected]


def test_the_head_comes_first_whatever_its_name() -> None:
    assert hosts(Sizes(tensor=2), {"a": 1, "z": 1}, head="z") == ["z", "a"]


def test_what_each_rank_is() -> None:
    ranks = _shape.place(Sizes(tensor=2, pipeline=2, data=2), EIGHTS, "node0")
    assert [(rank.replica, rank.stage, rank.shard) for rank in ranks] == [
        *((0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1)),
        *((1, 0, 0), (1, 0, 1), (1, 1, 0), (1, 1, 1)),
    ]


@pytest.mark.parametrize(
    ("sizes", "gpus", "crossing"),
    [
        (Sizes(tensor=8), EIGHTS, []),
        (Sizes(tensor=16), EIGHTS, ["tensor"]),
        (Sizes(tensor=8, pipeline=2), EIGHTS, ["pipeline"]),
        (Sizes(tensor=2, pipeline=2), {"node0": 3, "node1": 1}, ["tensor", "pipeline"]),
        (Sizes(tensor=8, data=2), EIGHTS, ["data"]),
        (Sizes(tensor=8, data=2, expert=True), EIGHTS, ["expert"]),
        (Sizes(tensor=16, expert=True), EIGHTS, ["tensor", "expert"]),
    ],
)
def test_what_crosses_the_wire(sizes: Sizes, gpus: dict[str, int], crossing: list[str]) -> None:
    assert _shape.crossing(sizes, _shape.place(sizes, gpus, "node0")) == crossing


def test_replicas_of_a_model_without_experts_share_nothing() -> None:
    sizes = Sizes(tensor=8, data=2)
    ranks = _shape.place(sizes, EIGHTS, "node0")
    assert _shape.crossing(sizes, ranks, published("Llama-3.1-8B")) == []
    assert _shape.crossing(sizes, ranks, published("Mixtral-8x7B")) == ["data"]
    assert _shape.explain(sizes, ranks, published("Llama-3.1-8B")) == [
        "tensor parallel 8 x pipeline parallel 1 x data parallel 2: ranks 0-7 on node0, ranks 8-15 on node1",
        "over the wire: no tensors",
    ]


@pytest.mark.parametrize(
    ("sizes", "gpus", "problem"),
    [
        (
            Sizes(tensor=2),
            {"node0": 1},
            "node0: tensor parallel 2 x pipeline parallel 1 needs 2 GPUs, got 1 on this host and no "
            "worker; add a host to group "
            "ray_workers or lower vllm_server_tensor_parallel_size",
        ),
        (
            Sizes(tensor=2, pipeline=2),
            PAIR,
            "node0: tensor parallel 2 x pipeline parallel 2 needs 4 GPUs, got 2 in the cluster (node0: 1, "
            "node1: 1); lower vllm_server_tensor_parallel_size or vllm_server_pipeline_parallel_size, or "
            "add hosts",
        ),
        (
            Sizes(tensor=2, data=2),
            {"node0": 1, "node1": 4},
            "node0: data parallel 2 needs 2 replicas of 2 GPUs, each on one host, as many on every host that "
            "has some as on node0, got node0: 1, node1: 4; lower vllm_server_tensor_parallel_size or "
            "vllm_server_pipeline_parallel_size or vllm_server_data_parallel_size",
        ),
    ],
)
def test_sizes_that_the_gpus_cannot_hold(sizes: Sizes, gpus: dict[str, int], problem: str) -> None:
    assert _shape.problems(sizes, gpus, "node0") == [problem]


@pytest.mark.parametrize(
    ("sizes", "model", "problem"),
    [
        (
            Sizes(tensor=3),
            "Llama-3.1-8B",
            "node0: tensor parallel 3 does not divide the 32 attention heads of LlamaForCausalLM; set "
            "vllm_server_tensor_parallel_size to 2 or 4",
        ),
        (
            Sizes(tensor=4),
            "phi-4",
            "node0: tensor parallel 4 does not divide the 10 key and value heads of Phi3ForCausalLM; set "
            "vllm_server_tensor_parallel_size to 2 or 5",
        ),
        (
            Sizes(tensor=2, expert=True),
            "Llama-3.1-8B",
            "node0: vllm_server_expert_parallel is true and LlamaForCausalLM has no experts; expected a "
            "mixture of experts, set it to false",
        ),
    ],
)
def test_sizes_that_the_model_cannot_have(sizes: Sizes, model: str, problem: str) -> None:
    assert _shape.problems(sizes, EIGHTS, "node0", published(model)) == [problem]


@pytest.mark.parametrize(
    ("tensor", "model"), [(16, "Qwen3-235B-A22B"), (16, "DeepSeek-V3"), (5, "phi-4")]
)
def test_sizes_that_vllm_takes(tensor: int, model: str) -> None:
    assert _shape.problems(Sizes(tensor=tensor), EIGHTS, "node0", published(model)) == []


def test_two_hosts_are_explained_in_two_lines() -> None:
    sizes = Sizes(tensor=2)
    ranks = _shape.place(sizes, PAIR, "node0")
    assert _shape.explain(sizes, ranks, published("Llama-3.1-8B")) == [
        "tensor parallel 2 x pipeline parallel 1: rank 0 on node0, rank 1 on node1",
        "over the wire: tensor parallel, 2 all-reduces in every layer, 8.0 KiB per token each",
    ]
    sizes = Sizes(pipeline=2)
    assert _shape.explain(sizes, _shape.place(sizes, PAIR, "node0")) == [
        "tensor parallel 1 x pipeline parallel 2: rank 0 on node0, rank 1 on node1",
        "over the wire: pipeline parallel, the hidden state once from stage to stage",
    ]


def test_many_hosts_are_explained_in_as_many_lines() -> None:
    sizes = Sizes(tensor=8, pipeline=32)
    gpus = {f"node{number:02}": 8 for number in range(32)}
    assert _shape.explain(sizes, _shape.place(sizes, gpus, "node00")) == [
        "tensor parallel 8 x pipeline parallel 32: ranks 0-7 on node00, ranks 8-15 on node01, ranks 16-23 on "
        "node02, ranks 24-31 on node03 and 28 more hosts; Ray may order the workers otherwise",
        "over the wire: pipeline parallel, the hidden state once from stage to stage",
    ]


def warned(sizes: Sizes, gpus: dict[str, int], slow: tuple[str, ...] = ()) -> list[str]:
    return _shape.warnings(sizes, _shape.place(sizes, gpus, "node0"), gpus, slow)


def test_tensor_parallel_across_hosts_without_rdma() -> None:
    assert warned(Sizes(tensor=2), PAIR, ("node0", "node1")) == [
        "tensor parallel 2 is split across hosts, and node0, node1 have no RDMA: every layer waits twice for "
        "TCP; vllm_server_tensor_parallel_size: 1 with vllm_server_pipeline_parallel_size: 2 waits once for "
        "each stage"
    ]
    assert warned(Sizes(tensor=16), EIGHTS, ("node1",)) == [
        "tensor parallel 16 is split across hosts, and node1 has no RDMA: every layer waits twice for TCP; "
        "vllm_server_tensor_parallel_size: 8 with vllm_server_pipeline_parallel_size: 2 waits once for each "
        "stage"
    ]
    assert warned(Sizes(tensor=4), {"node0": 3, "node1": 1}, ("node0",)) == [
        "tensor parallel 4 is split across hosts, and node0 has no RDMA: every layer waits twice for "
        "TCP; RDMA "
        "between the hosts, or smaller sizes, would spare that"
    ]
    assert warned(Sizes(tensor=8, pipeline=2), EIGHTS, ("node0", "node1")) == []
    assert warned(Sizes(tensor=16), EIGHTS) == []


def test_a_group_that_uneven_hosts_tear() -> None:
    assert warned(Sizes(tensor=2, pipeline=2), {"node0": 3, "node1": 1}) == [
        "tensor parallel 2 is split across hosts though 3 GPUs are on one of them; hosts with a multiple "
        "of 2 "
        "GPUs keep each group together"
    ]


def test_gpus_that_stay_unused() -> None:
    assert warned(Sizes(tensor=2), {"node0": 2, "node1": 2}) == [
        "2 of 4 GPUs stay unused (node1: 2); raise one of the parallel sizes to use them"
    ]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (
            Sizes(tensor=2),
            [
                *("--distributed-executor-backend", "ray"),
                *("--tensor-parallel-size", "2", "--pipeline-parallel-size", "1"),
            ],
        ),
        (
            Sizes(tensor=8, data=2, expert=True),
            [
                *("--distributed-executor-backend", "ray"),
                *("--tensor-parallel-size", "8", "--pipeline-parallel-size", "1"),
                *("--data-parallel-size", "2", "--data-parallel-size-local", "1"),
                *("--data-parallel-backend", "ray", "--data-parallel-address", "192.0.2.10"),
                "--enable-expert-parallel",
            ],
        ),
    ],
)
def test_the_arguments(sizes: Sizes, expected: list[str]) -> None:
    assert _shape.arguments(sizes, EIGHTS, "node0", "192.0.2.10") == expected


@pytest.mark.parametrize(
    ("sizes", "host", "expected"),
    [
        (Sizes(tensor=16, executor="mp"), "node0", ["--node-rank", "0", *MEET]),
        (Sizes(tensor=16, executor="mp"), "node1", ["--node-rank", "1", *MEET, "--headless"]),
    ],
)
def test_the_arguments_without_ray(sizes: Sizes, host: str, expected: list[str]) -> None:
    said = _shape.arguments(sizes, EIGHTS, "node0", "192.0.2.10", host, 29501)
    assert said[:2] == ["--distributed-executor-backend", "mp"]
    assert said[6:] == ["--nnodes", "2", *expected]


def test_replicas_without_ray_meet_on_a_port_of_the_cluster() -> None:
    sizes = Sizes(tensor=8, data=2, executor="mp")
    assert _shape.arguments(sizes, EIGHTS, "node0", "192.0.2.10", "node1", 29501)[6:12] == [
        *("--data-parallel-size", "2", "--data-parallel-rpc-port", "29503"),
        *("--data-parallel-address", "192.0.2.10"),
    ]


def test_one_host_without_ray_meets_nobody() -> None:
    sizes = Sizes(tensor=2, executor="mp")
    assert _shape.arguments(sizes, {"node0": 2}, "node0", "192.0.2.10", "node0", 29501)[6:] == []


@pytest.mark.parametrize(
    ("sizes", "gpus", "hosts"),
    [
        (Sizes(tensor=2), {"node0": 1, "node1": 1}, ["node0", "node1"]),
        # The head's host does not fill up first, as it does with Ray.
        (Sizes(tensor=2), {"node0": 2, "node1": 1}, ["node0", "node1"]),
        (Sizes(pipeline=3), {"b": 1, "a": 1, "node0": 1}, ["node0", "a", "b"]),
        (Sizes(tensor=2, data=2), {"node0": 2, "node1": 2}, ["node0"] * 2 + ["node1"] * 2),
        # A replica may be on several hosts, which it may not be with Ray.
        (
            Sizes(tensor=2, data=2),
            dict.fromkeys(["node0", "a", "b", "c"], 1),
            ["node0", "a", "b", "c"],
        ),
    ],
)
def test_without_ray_each_host_takes_as_many_ranks(
    sizes: Sizes, gpus: dict[str, int], hosts: list[str]
) -> None:
    sizes = replace(sizes, executor="mp")
    assert [rank.host for rank in _shape.place(sizes, gpus, "node0")] == hosts
    assert _shape.problems(sizes, gpus, "node0") == []


@pytest.mark.parametrize(
    ("sizes", "gpus"),
    [
        (Sizes(tensor=2), {"node0": 1, "node1": 1, "node2": 1}),
        (Sizes(tensor=4), {"node0": 3, "node1": 1}),
        (Sizes(tensor=2, data=3), {"node0": 3, "node1": 3}),
    ],
)
def test_ranks_that_do_not_spread_evenly_need_ray(sizes: Sizes, gpus: dict[str, int]) -> None:
    sizes = replace(sizes, executor="mp")
    assert _shape.place(sizes, gpus, "node0") == ()
    (said,) = _shape.problems(sizes, gpus, "node0")
    assert said.startswith("node0: tensor parallel ")
    assert f"has {sizes.world} ranks, which vLLM without Ray must spread evenly over all " in said
    assert said.endswith(", take hosts out of ray_workers, or set vllm_server_executor: ray")


COUNTS = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 8), min_size=1).map(
    lambda counts: {"head": 2, **counts}
)
SIZES = st.builds(Sizes, st.integers(1, 8), st.integers(1, 4), st.integers(1, 4), st.booleans())


@given(sizes=SIZES, gpus=COUNTS)
def test_no_host_gets_more_ranks_than_it_has_gpus(sizes: Sizes, gpus: dict[str, int]) -> None:
    placed = hosts(sizes, gpus, "head")
    assert len(placed) in (0, sizes.world)
    assert all(placed.count(host) <= count for host, count in gpus.items())
    assert bool(placed) == (_shape.problems(sizes, gpus, "head") == [])


@given(sizes=SIZES, gpus=COUNTS, host=st.sampled_from("abcd"))
def test_more_gpus_on_a_worker_never_make_it_impossible(
    sizes: Sizes, gpus: dict[str, int], host: str
) -> None:
    more = {**gpus, host: gpus.get(host, 0) + 1}
    assert not hosts(sizes, gpus, "head") or hosts(sizes, more, "head")


@given(sizes=SIZES, gpus=COUNTS)
def test_a_replica_of_several_is_on_one_host(sizes: Sizes, gpus: dict[str, int]) -> None:
    ranks = _shape.place(replace(sizes, data=2), gpus, "head")
    assert len({(rank.replica, rank.host) for rank in ranks}) == len(
        {rank.replica for rank in ranks}
    )
