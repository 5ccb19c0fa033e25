# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What fits is let through, what cannot fit ends in one sentence that says what would."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.samewire.vllm.plugins.module_utils import _fit, _shape
from tests.unit.plugins.module_utils.test_model import PUBLISHED, published

GIB = 1 << 30
H100 = _fit.Gpu("NVIDIA H100 80GB HBM3", 79 * GIB, 9.0)
GB10 = _fit.Gpu("NVIDIA GB10", 120 * GIB, 12.1, shared=True)
L4 = _fit.Gpu("NVIDIA L4", 22 * GIB, 8.9)


def deployment(
    name: str, gpu: _fit.Gpu, per_host: int = 1, arguments: str = "", **changes: Any
) -> _fit.Deployment:
    case = next(each for each in PUBLISHED if each["name"] == name)
    return _fit.Deployment(
        **{
            "name": f"/models/{name}",
            "model": published(name),
            "weights": case.get("files") or case["parameters"] * 2,
            "serving": _fit.serving(arguments.split()),
            "sizes": _shape.Sizes(),
            "counts": {"node0": per_host, "node1": per_host},
            "head": "node0",
            "gpus": {"node0": (gpu,) * per_host, "node1": (gpu,) * per_host},
            **changes,
        }
    )


def gib(size: float) -> float:
    return size / GIB


@pytest.mark.parametrize(("tensor", "weights", "cache"), [(1, 14.96, 53.29), (2, 7.48, None)])
def test_what_vllm_itself_reports(tensor: int, weights: float, cache: float | None) -> None:
    # An H100 with 79.22 GiB, utilisation 0.9, Llama 3 8B; source: https://github.com/vllm-project/vllm/pull/10511
    # (that of tensor parallel 2 also counted another process, so only its weights are held against it).
    gpu = replace(H100, memory=int(79.22 * GIB))
    own = deployment(
        "Llama-3.1-8B",
        gpu,
        arguments="--gpu-memory-utilization 0.9 --max-num-batched-tokens 8192",
        sizes=_shape.Sizes(tensor=tensor),
    )
    wants = _fit.need(own, 0, 8192)
    assert gib(wants.weights) == pytest.approx(weights, rel=0.02)
    if cache:
        room = _fit.budget(gpu, own.serving) - wants.weights - wants.working
        assert gib(room) == pytest.approx(cache, rel=0.1)
        assert gib(room) > cache


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", _fit.Serving()),
        ("--max-model-len 32768", _fit.Serving(context=32768)),
        ("--max-model-len=32k", _fit.Serving(context=32000)),
        ("--max_model_len 32K", _fit.Serving(context=32768)),
        ("--max-model-len 25.6k", _fit.Serving(context=25600)),
        ("--max-model-len auto", _fit.Serving(context=0)),
        ("--max-model-len -1", _fit.Serving(context=0)),
        ("--max-model-len long", _fit.Serving()),
        ("--max-model-len 1024 --max-model-len 2048", _fit.Serving(context=2048)),
        ("--kv-cache-dtype=fp8_e4m3", _fit.Serving(cache="fp8_e4m3")),
        ("--gpu-memory-utilization 0.8", _fit.Serving(utilisation=0.8)),
        ("--gpu-memory-utilization 80", _fit.Serving()),
        ("--max-num-seqs 64", _fit.Serving(sequences=64)),
        ("--max-num-batched-tokens=8K", _fit.Serving(batched=8192)),
        ("-q fp8", _fit.Serving(quantisation="fp8")),
        ("--quantization awq --dtype half", _fit.Serving(quantisation="awq", element=2)),
        ("--enforce-eager --dtype=float32", _fit.Serving(element=4)),
        ("--max-model-len", _fit.Serving()),
    ],
)
def test_what_the_arguments_say(arguments: str, expected: _fit.Serving) -> None:
    assert _fit.serving(arguments.split()) == expected


def test_a_model_that_fits_has_no_problem() -> None:
    assert _fit.problems(deployment("Llama-3.1-8B", H100)) == []


@pytest.mark.parametrize(
    ("own", "problem"),
    [
        (
            deployment("Llama-3.1-8B", L4),
            "node0: /models/Llama-3.1-8B needs 31.2 GiB on each GPU (weights 15.0 GiB, cache of one request "
            "of 131,072 tokens 16.0 GiB, activations 0.2 GiB), expected at most 20.2 GiB of the 22.0 GiB of "
            "NVIDIA L4; what would fit: --max-model-len 40960 in vllm_server_extra_args, or "
            "vllm_server_tensor_parallel_size: 2 and vllm_server_pipeline_parallel_size: 1, or a checkpoint "
            "of 8 bits per weight with --max-model-len 94208 in vllm_server_extra_args",
        ),
        (
            deployment("Llama-3.1-405B", GB10, sizes=_shape.Sizes(tensor=2)),
            "node0: /models/Llama-3.1-405B needs 410.0 GiB on each GPU (weights 378.0 GiB, cache of one "
            "request "
            "of 131,072 tokens 31.5 GiB, activations 0.6 GiB), expected at most 110.4 GiB of the 120.0 "
            "GiB of "
            "NVIDIA GB10; what would fit: a checkpoint of 4 bits per weight with --max-model-len 51200 in "
            "vllm_server_extra_args",
        ),
        (
            deployment(
                "Llama-3.1-70B", GB10, arguments="--gpu-memory-utilization 1 --max-model-len 4k"
            ),
            "node0: /models/Llama-3.1-70B needs 133.1 GiB on each GPU (weights 131.4 GiB, cache of one "
            "request "
            "of 4,000 tokens 1.2 GiB, activations 0.5 GiB), expected at most 116.0 GiB of the 120.0 GiB of "
            "NVIDIA GB10, which also hold the system's 4.0 GiB; what would fit: "
            "vllm_server_tensor_parallel_size: 2 and vllm_server_pipeline_parallel_size: 1, or a checkpoint "
            "of 8 bits per weight",
        ),
        (
            deployment(
                "Llama-3.1-70B",
                H100,
                sizes=_shape.Sizes(tensor=2),
                arguments="--max-model-len 65536",
            ),
            "node0: /models/Llama-3.1-70B needs 76.0 GiB on each GPU (weights 65.7 GiB, cache of one "
            "request of "
            "65,536 tokens 10.0 GiB, activations 0.3 GiB), expected at most 72.7 GiB of the 79.0 GiB of "
            "NVIDIA "
            "H100 80GB HBM3; what would fit: --max-model-len 43008 in vllm_server_extra_args, or "
            "--kv-cache-dtype fp8 there, or a checkpoint of 8 bits per weight",
        ),
        (
            deployment("DeepSeek-V3", L4, weights=688_000_000_000),
            "node0: /models/DeepSeek-V3 needs 641.0 GiB on each GPU (weights 630.0 GiB, cache of one "
            "request of "
            "163,840 tokens 10.7 GiB, activations 0.3 GiB), expected at most 20.2 GiB of the 22.0 GiB of "
            "NVIDIA "
            "L4; add hosts, or choose a smaller model",
        ),
    ],
)
def test_a_model_that_does_not_fit(own: _fit.Deployment, problem: str) -> None:
    assert _fit.problems(own) == [problem]


def test_the_host_with_the_least_memory_is_named() -> None:
    own = deployment("Llama-3.1-8B", H100, sizes=_shape.Sizes(tensor=2))
    mixed = replace(own, gpus={"node0": (H100,), "node1": (replace(L4, memory=10 * GIB),)})
    assert _fit.problems(own) == []
    assert _fit.problems(mixed)[0].startswith("node1: ")


def test_the_longest_context_fits_and_one_block_more_does_not() -> None:
    own = deployment("Llama-3.1-8B", L4)
    longest = _fit.longest_context(own)
    assert longest % 16 == 0
    assert _fit.fits(own, longest)
    assert not _fit.fits(own, longest + 16)
    assert not _fit.problems(deployment("Llama-3.1-8B", L4, arguments=f"--max-model-len {longest}"))


def test_nothing_is_judged_where_no_memory_is_known() -> None:
    for known in ({}, {"node0": ()}, {"node1": (L4,)}):
        own = deployment("Llama-3.1-405B", L4, gpus=known)
        assert _fit.problems(own) == []
        assert _fit.notes(own, {}) == []


def test_what_vllm_shortens_by_itself() -> None:
    assert _fit.problems(deployment("Llama-3.1-8B", L4, arguments="--max-model-len auto")) == []


def test_heads_of_the_cache_are_repeated_and_what_mla_caches_is_on_every_rank() -> None:
    how, qwen = _fit.Serving(), published("Qwen3-235B-A22B")
    per_rank = [_fit.cache_per_token(qwen, how, tensor) for tensor in (1, 2, 4, 8, 16)]
    assert per_rank == [2048, 1024, 512, 512, 512]
    deepseek = published("DeepSeek-V3")
    assert {_fit.cache_per_token(deepseek, how, tensor) for tensor in (1, 8, 16)} == {1152}


@pytest.mark.parametrize(
    ("arguments", "size"),
    [
        ("", 4096),
        ("--kv-cache-dtype bfloat16", 4096),
        ("--kv-cache-dtype fp8", 2048),
        ("--kv-cache-dtype int8_per_token_head", 2048),
        ("--kv-cache-dtype nvfp4", 1024),
        ("--dtype float32", 8192),
    ],
)
def test_the_element_of_the_cache(arguments: str, size: int) -> None:
    how = _fit.serving(arguments.split())
    assert _fit.cache_per_token(published("Llama-3.1-8B"), how, 1) == size


def test_weights_that_vllm_quantises_while_it_loads() -> None:
    model, size = published("Llama-3.1-70B"), 141_107_412_992
    how = _fit.serving(["--quantization", "fp8_per_tensor"])
    # Embedding and head stay as they are: 2 x 128,256 x 8,192 x 2 bytes.
    expected = (size - 4_202_692_608) / 2 + 4_202_692_608
    assert _fit.weights_per_rank(model, size, how, _shape.Sizes(), 0) == int(expected)


def test_the_stages_share_the_weights() -> None:
    model, size, how = published("Gemma-2-27B"), 54_454_256_640, _fit.Serving()
    sizes = _shape.Sizes(pipeline=2)
    both = [_fit.weights_per_rank(model, size, how, sizes, stage) for stage in (0, 1)]
    # Its head is tied: the last stage has the embedding, 256,000 x 4,608 x 2 bytes, once more.
    assert sum(both) == pytest.approx(size + 2_359_296_000, abs=2)


def test_replicas_share_the_experts() -> None:
    model, size, how = published("Mixtral-8x7B"), 93_405_585_408, _fit.Serving()
    alone = _fit.weights_per_rank(model, size, how, _shape.Sizes(), 0)
    shared = _fit.weights_per_rank(model, size, how, _shape.Sizes(data=2), 0)
    # 32 layers x 8 experts x 3 matrices x 4,096 x 14,336 x 2 bytes.
    assert alone - shared == pytest.approx(90_194_313_216 / 2, rel=0.001)


@pytest.mark.parametrize(
    ("method", "gpu", "problem"),
    [
        (None, 6.1, None),
        ("fp8", 8.0, None),
        ("unheard-of", 6.1, None),
        ("mxfp4", 7.5, "8.0"),
        ("fbgemm_fp8", 7.5, "8.0"),
        ("awq", 7.0, "7.5"),
        ("fp_quant", 9.0, "10.0"),
    ],
)
def test_the_generation_of_the_gpus(method: str | None, gpu: float, problem: str | None) -> None:
    old = _fit.Gpu("Old GPU", 16 * GIB, gpu)
    said = _fit.capability_problems("/models/m", method, {"node0": (GB10, old), "node1": (GB10,)})
    assert said == (
        []
        if problem is None
        else [
            f"node0: the quantisation {method} of /models/m needs compute capability {problem} or newer, got "
            f"{gpu} (Old GPU); choose another checkpoint, or another GPU"
        ]
    )


def test_a_generation_that_is_not_known_is_not_judged() -> None:
    unknown = {"node0": (replace(H100, capability=None),)}
    assert _fit.capability_problems("m", "fp_quant", unknown) == []


def test_what_is_worth_knowing_of_a_model_that_fits() -> None:
    own = deployment("Llama-3.1-8B", H100, arguments="--max-num-seqs 8 --max-model-len 65536")
    assert _fit.notes(own, {}) == [
        "on each GPU of node0: weights 15.0 GiB, and at most 57.5 GiB of cache, 7 requests of 65,536 tokens",
        "--max-num-seqs 8 asks for more requests than that: long ones will wait, or be computed again; lower "
        "--max-model-len, or take the cache in fp8",
    ]


def test_a_memory_that_cpu_and_gpu_share() -> None:
    own = deployment("Llama-3.1-8B", GB10)
    first = (
        "on each GPU of node0: weights 15.0 GiB, and at most 95.2 GiB of cache, 5 requests of 131,072 "
        "tokens"
    )
    shared = (
        "node0: CPU and GPU share 120.0 GiB, of which vLLM may take 110.4 GiB and Ray's object store "
        "36.0 GiB; "
        "lower --gpu-memory-utilization in vllm_server_extra_args, or set --object-store-memory in "
        "ray_node_extra_args"
    )
    assert _fit.notes(own, {}) == [first, shared]
    small = _fit.object_stores(
        {host: {"ray_node_extra_args": ["--object-store-memory=2000000000"]} for host in own.counts}
    )
    assert small == {"node0": 2_000_000_000, "node1": 2_000_000_000}
    assert _fit.notes(own, small) == [first]


def found(**changes: Any) -> dict[str, Any]:
    """Return what module weights_info found of a small model."""
    config = {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "vocab_size": 512,
        "max_position_embeddings": 256,
    }
    files = {"model.safetensors": {"size": 1000}, "consolidated.safetensors": {"size": 900}}
    return {"exists": True, "config": config, "files": files, **changes}


def judged(
    own: dict[str, Any], gpus: Any = None, arguments: str = "--max-model-len 64"
) -> _fit.Deployment | None:
    variables = {
        "vllm_server_model": "/models/m",
        "vllm_server_tensor_parallel_size": 1,
        "vllm_server_pipeline_parallel_size": 1,
        "vllm_server_data_parallel_size": 1,
        "vllm_server_expert_parallel": False,
        "vllm_server_extra_args": arguments.split(),
    }
    nodes = {"node0": {"gpus": {"found": gpus, "reason": None}}}
    return _fit.deployment(variables, {"node0": 1}, "node0", nodes, own)


def test_what_the_hosts_have_found_becomes_a_judgement() -> None:
    gpu = {"name": "NVIDIA L4", "memory": 22 * GIB, "capability": 8.9, "shared": False}
    own = judged(found(), [gpu, {**gpu, "memory": None}])
    assert own is not None
    assert (own.weights, own.serving.context) == (1000, 64)
    assert own.gpus == {"node0": (L4,)}


@pytest.mark.parametrize(
    "own",
    [
        {"exists": False},
        found(config=None),
        found(config={"hidden_size": 64}),
        found(files={"model.gguf": {"size": 1000}}),
    ],
)
def test_nothing_is_judged_of_a_model_that_does_not_tell_its_size(own: dict[str, Any]) -> None:
    assert judged(own) is None


@pytest.mark.parametrize("argument", ["--cpu-offload-gb=8", "--load_format dummy", "-tp 4"])
def test_nothing_is_judged_where_an_argument_changes_the_figures(argument: str) -> None:
    assert judged(found(), arguments="--enforce-eager") is not None
    assert judged(found(), arguments=argument) is None


NAMES = st.sampled_from([each["name"] for each in PUBLISHED])
TOKENS = st.integers(1, 200_000)


@given(name=NAMES, first=TOKENS, second=TOKENS)
def test_a_longer_context_never_frees_memory(name: str, first: int, second: int) -> None:
    own, (short, long) = deployment(name, H100), sorted((first, second))
    assert _fit.need(own, 0, short).total <= _fit.need(own, 0, long).total
    assert _fit.fits(own, short) or not _fit.fits(own, long)


@settings(deadline=None)
@given(
    name=NAMES,
    tokens=TOKENS,
    tensor=st.sampled_from([1, 2, 4]),
    times=st.sampled_from([1, 2, 4]),
    pipeline=st.integers(1, 4),
    memory=st.integers(1, 200),
)
def test_more_gpus_never_make_a_model_too_large(
    name: str, tokens: int, tensor: int, times: int, pipeline: int, memory: int
) -> None:
    gpu = replace(H100, memory=memory * GIB)
    few = deployment(name, gpu, per_host=32, sizes=_shape.Sizes(tensor=tensor))
    more = replace(few, sizes=_shape.Sizes(tensor=tensor * times, pipeline=pipeline))
    assert _fit.fits(more, tokens) or not _fit.fits(few, tokens)


@given(name=NAMES, memory=st.integers(1, 200), util=st.integers(1, 100), shared=st.booleans())
def test_what_fits_fits_a_larger_gpu_too(name: str, memory: int, util: int, shared: bool) -> None:
    gpu = replace(H100, memory=memory * GIB, shared=shared)
    arguments = f"--gpu-memory-utilization {util / 100}"
    assert not _fit.fits(deployment(name, gpu, arguments=arguments)) or _fit.fits(
        deployment(name, replace(gpu, memory=(memory + 1) * GIB), arguments=arguments)
    )
