# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a model fits the memory of the GPUs, judged before anything is pulled or started.

Every estimate is on the low side, so that what is refused cannot start. Sources, vLLM 0.32: the budget is
total memory times utilisation (vllm/v1/worker/utils.py, request_memory); the cache must hold one request of
the longest context (vllm/v1/core/kv_cache_utils.py, check_enough_kv_cache_memory).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from . import _model, _shape

_GIB = 1 << 30
_BLOCK = 16
# vLLM's default since 0.32; earlier ones take 0.9, so this refuses less.
_UTILISATION = 0.92
# vllm serve's default where a GPU has less than 70 GiB, the smallest of all (engine/arg_utils.py).
_BATCHED = 2048
# What Linux, Docker and Ray's processes hold of a memory that CPU and GPU share.
_SYSTEM = 4 * _GIB
# Ray's object store takes this part of the memory where nothing is said (ray start --help).
_OBJECT_STORE = 0.3

# Bytes of one element of the cache (vllm/config/cache.py, CacheDType); others are half a byte or more.
_CACHE = {"float32": 4.0, "float16": 2.0, "bfloat16": 2.0, "int8": 1.0, "fp8": 1.0}
# Bytes of a weight that vLLM quantises while it loads.
_ONLINE = {
    "fp8": 1.0,
    "mxfp8": 1.0,
    "int8": 1.0,
    "experts_int8": 1.0,
    "bitsandbytes": 0.5,
    "nvfp4": 0.5,
}

# With these the figures below are not those that count: parts are elsewhere, or the model is another.
_UNJUDGED = frozenset(
    {
        *("cpu-offload-gb", "offload-backend", "kv-cache-memory-bytes", "num-gpu-blocks-override"),
        *("config", "hf-overrides", "load-format", "tensor-parallel-size", "tp"),
        *("pipeline-parallel-size", "pp", "data-parallel-size", "dp"),
    }
)

# Compute capability that vLLM 0.32 asks for, from get_min_capability of each method in
# vllm/model_executor/layers/quantization: newer GPUs compute in the format, older ones unpack it.
CAPABILITY = {
    "awq": 7.5,
    "auto-awq": 7.5,
    "compressed-tensors": 7.0,
    "experts-int8": 8.0,
    "fbgemm-fp8": 8.0,
    "fp-quant": 10.0,
    "fp8": 7.5,
    "gptq": 6.0,
    "modelopt": 8.0,
    "modelopt-fp4": 7.5,
    "mxfp4": 8.0,
    "quark": 7.0,
    "torchao": 7.5,
}


@dataclass(frozen=True)
class Gpu:
    """A GPU of a host; memory in bytes; shared: CPU and GPU have one memory, as on a DGX Spark."""

    name: str
    memory: int
    capability: float | None = None
    shared: bool = False


@dataclass(frozen=True)
class Serving:
    """What the arguments of vllm serve say of memory; None is vLLM's own choice.

    context: tokens, 0 where vLLM shortens it until it fits; sequences: requests at once.
    """

    context: int | None = None
    cache: str = "auto"
    utilisation: float = _UTILISATION
    sequences: int | None = None
    batched: int = _BATCHED
    quantisation: str | None = None
    element: int | None = None


@dataclass(frozen=True)
class Need:
    """Bytes that one rank needs: weights, cache of one request, and what computing takes."""

    weights: int
    cache: int
    working: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.cache + self.working


@dataclass(frozen=True)
class Deployment:
    """What is to be judged; weights: bytes of the files; gpus: by host, without those that tell nothing."""

    name: str
    model: _model.Model
    weights: int
    serving: Serving
    sizes: _shape.Sizes
    counts: Mapping[str, int]
    head: str
    gpus: Mapping[str, Sequence[Gpu]]


def deployment(
    settings: Mapping[str, Any],
    counts: Mapping[str, int],
    head: str,
    nodes: Mapping[str, Mapping[str, Any]],
    own: Mapping[str, Any],
) -> Deployment | None:
    """Return what is to be judged, or None where the model's size is not known or not what counts.

    settings: the variables of the head; counts: GPUs by host; nodes: what module node_info found, by host;
    own: config and files with sizes of the model, as `_weights_plan.plan` gives them.
    """
    model = figures(own)
    size = _loaded(own.get("files") or {})
    arguments = settings["vllm_server_extra_args"]
    if model is None or not size or _UNJUDGED & set(options(arguments)):
        return None
    return Deployment(
        name=str(settings["vllm_server_model"]),
        model=model,
        weights=size,
        serving=serving(arguments),
        sizes=_shape.sizes(settings),
        counts=counts,
        head=head,
        gpus={host: gpus(node["gpus"]["found"]) for host, node in nodes.items()},
    )


def figures(own: Mapping[str, Any]) -> _model.Model | None:
    """Return the figures of a model, or None where its config.json does not say them."""
    try:
        return _model.parse(own["config"]) if own.get("config") else None
    except _model.UnknownModel:
        return None


def _loaded(files: Mapping[str, Mapping[str, Any]]) -> int:
    """Return the bytes of the files that vLLM loads: one format, and not the maker's own copy beside it."""
    for ending in (".safetensors", ".bin", ".pt"):
        sizes = {name: int(each["size"]) for name, each in files.items() if name.endswith(ending)}
        shards = [size for name, size in sizes.items() if not name.startswith("consolidated")]
        if sizes:
            return sum(shards or sizes.values())
    return 0


def gpus(found: Sequence[Mapping[str, Any]] | None) -> tuple[Gpu, ...]:
    """Return the GPUs that module node_info found on a host, those whose memory is known."""
    return tuple(
        Gpu(
            name=str(each["name"]),
            memory=int(each["memory"]),
            capability=each.get("capability"),
            shared=bool(each.get("shared")),
        )
        for each in found or ()
        if each.get("memory")
    )


def serving(arguments: Sequence[str]) -> Serving:
    """Return what the arguments of vllm serve say of memory; the last of several wins.

    A value that vLLM will refuse counts as not given: the refusal is vLLM's.
    """
    given = options(arguments)
    utilisation = _decimal(given.get("gpu-memory-utilization"))
    return Serving(
        context=_tokens(given.get("max-model-len")),
        cache=given.get("kv-cache-dtype", "auto"),
        utilisation=utilisation if utilisation and utilisation <= 1 else _UTILISATION,
        sequences=_tokens(given.get("max-num-seqs")) or None,
        batched=_tokens(given.get("max-num-batched-tokens")) or _BATCHED,
        quantisation=given.get("quantization", given.get("q")),
        element={"float32": 4, "float": 4, "half": 2, "float16": 2, "bfloat16": 2}.get(
            given.get("dtype", "")
        ),
    )


def object_stores(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, int | None]:
    """Return the bytes of Ray's object store that the variables of each host ask for, by host."""
    found = {}
    for host, own in settings.items():
        said = [
            value
            for variable in ("ray_node_extra_args", "ray_head_extra_args", "ray_worker_extra_args")
            for name, value in _options(own.get(variable) or [])
            if name == "object-store-memory"
        ]
        found[host] = _tokens(said[-1]) if said else None
    return found


def options(arguments: Sequence[str]) -> dict[str, str]:
    """Return the values of the options of a command by name; the last of several wins, as argparse does."""
    return dict(_options(arguments))


def _options(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    for argument, following in zip(arguments, [*arguments[1:], ""]):
        name, equals, value = argument.partition("=")
        if name.startswith("-"):
            yield name.lstrip("-").replace("_", "-"), value if equals else following


def _tokens(value: str | None) -> int | None:
    """Return a number as vLLM reads it: 32k is 32,000, 32K is 32,768; 0 for auto and -1."""
    if value in ("auto", "-1"):
        return 0
    matched = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgKMG]?)", value or "")
    if not matched:
        return None
    power = "kmg".find(matched[2].lower()) + 1 if matched[2] else 0
    return int(float(matched[1]) * (1000 if matched[2].islower() else 1024) ** power)


def _decimal(value: str | None) -> float | None:
    try:
        return float(value or "")
    except ValueError:
        return None


def weights_per_rank(
    model: _model.Model, size: int, how: Serving, sizes: _shape.Sizes, stage: int
) -> int:
    """Return the bytes of weights on each rank of a stage; size: bytes of the model's files."""
    found = _model.parameters(model)
    ends = (found.embedding + found.head) * model.element
    # Layers of multi-token prediction are in the files, and not loaded.
    loaded = found.layers / max(found.layers + found.predictors, 1)
    layers = max(size - ends, 0) * loaded
    element = _element(model, how)
    if model.quantisation is None:
        layers *= _ONLINE.get(_online(how.quantisation), element) / model.element
    experts = layers * found.experts / max(found.layers, 1)
    dense = layers - experts
    stages = _model.stages(model.layers, sizes.pipeline)
    here = (dense + experts / sizes.data) * len(stages[stage]) / model.layers
    if stage == 0:
        here += found.embedding * element
    if stage == sizes.pipeline - 1:
        # A head that is tied to the embedding is stored again where the embedding is elsewhere.
        again = found.embedding if model.tied and stage else 0
        here += (found.head + again) * element
    return int(here / sizes.tensor)


def _online(method: str | None) -> str:
    return re.split(r"_per_|_weight", method or "")[0]


def _element(model: _model.Model, how: Serving) -> int:
    """Return the bytes of a number that vLLM computes with: of float32 it makes 16 bits unless told so."""
    return how.element or min(model.element, 2)


def cache_per_token(model: _model.Model, how: Serving, tensor: int) -> int:
    """Return the bytes of cache that one token takes on a rank in one layer.

    Heads of keys and values are repeated where tensor parallel has more ranks than them; what MLA caches is
    on every rank.
    """
    elements = model.latent or 2 * max(1, model.kv_heads // tensor) * model.head_dim
    return int(elements * _cache_element(model, how))


def _cache_element(model: _model.Model, how: Serving) -> float:
    if how.cache == "auto":
        return _element(model, how)
    return next((size for name, size in _CACHE.items() if how.cache.startswith(name)), 0.5)


def cache_per_request(
    model: _model.Model, how: Serving, sizes: _shape.Sizes, stage: int, context: int
) -> int:
    """Return the bytes of cache that a request of so many tokens takes on each rank of a stage."""
    layers = _model.stages(model.layers, sizes.pipeline)[stage]
    tokens = 0
    for layer in layers:
        window = model.windows[layer]
        if window != 0:
            # A window keeps what it sees and the batch that is being computed.
            kept = context if window is None else min(window - 1 + how.batched, context)
            tokens += -(-kept // _BLOCK) * _BLOCK
    return tokens * cache_per_token(model, how, sizes.tensor)


def need(deployment: Deployment, stage: int, context: int) -> Need:
    """Return what each rank of a stage needs for one request of so many tokens."""
    model, how, sizes = deployment.model, deployment.serving, deployment.sizes
    return Need(
        weights=weights_per_rank(model, deployment.weights, how, sizes, stage),
        cache=cache_per_request(model, how, sizes, stage, context),
        working=_working(model, how, sizes),
    )


def _working(model: _model.Model, how: Serving, sizes: _shape.Sizes) -> int:
    """Return the least that computing takes: the activations of one layer for one batch of tokens.

    CUDA graphs, NCCL's buffers and the logits come on top; none of them is as sure.
    """
    width = max(model.intermediate, model.experts_per_token * model.expert_intermediate)
    return how.batched * (4 * model.hidden + 3 * width // sizes.tensor) * _element(model, how)


def budget(gpu: Gpu, how: Serving) -> int:
    """Return the bytes that vLLM may take of a GPU."""
    asked = int(gpu.memory * how.utilisation)
    return min(asked, gpu.memory - _SYSTEM) if gpu.shared else asked


def context(deployment: Deployment) -> int:
    """Return the tokens of the longest request that vLLM must be able to hold."""
    asked = deployment.serving.context
    # With auto vLLM takes what fits, be it one block.
    return _BLOCK if asked == 0 else asked or deployment.model.context


def _places(deployment: Deployment) -> dict[tuple[str, int], int]:
    """Return the bytes that vLLM may take, by host and stage, where the memory is known."""
    ranks = _shape.place(deployment.sizes, deployment.counts, deployment.head)
    return {
        (rank.host, rank.stage): min(
            budget(gpu, deployment.serving) for gpu in deployment.gpus[rank.host]
        )
        for rank in ranks
        if deployment.gpus.get(rank.host)
    }


def _missing(deployment: Deployment, tokens: int) -> dict[tuple[str, int], int]:
    """Return how many bytes are wanting, by host and stage; below zero they are left over."""
    return {
        (host, stage): need(deployment, stage, tokens).total - allowed
        for (host, stage), allowed in _places(deployment).items()
    }


def fits(deployment: Deployment, tokens: int | None = None) -> bool:
    """Return whether every rank whose memory is known holds one request of so many tokens."""
    wanting = _missing(deployment, context(deployment) if tokens is None else tokens)
    return all(each <= 0 for each in wanting.values())


def longest_context(deployment: Deployment) -> int:
    """Return the longest context that fits, in tokens, a multiple of 16; 0 where none does."""
    low, high = 0, deployment.model.context // _BLOCK
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(deployment, middle * _BLOCK) else (low, middle - 1)
    return low * _BLOCK


def problems(deployment: Deployment) -> list[str]:
    """Return the sentence of a model that does not fit, of the rank that lacks most, or none."""
    tokens = context(deployment)
    wanting = _missing(deployment, tokens)
    if all(each <= 0 for each in wanting.values()):
        return []
    host, stage = max(wanting, key=lambda place: wanting[place])
    wants = need(deployment, stage, tokens)
    gpu = min(deployment.gpus[host], key=lambda each: budget(each, deployment.serving))
    return [
        f"{host}: {deployment.name} needs {_gib(wants.total)} on each GPU (weights {_gib(wants.weights)}, "
        f"cache of one request of {tokens:,} tokens {_gib(wants.cache)}, activations "
        f"{_gib(wants.working)}), expected at most {_gib(budget(gpu, deployment.serving))} of the "
        f"{_gib(gpu.memory)} of {gpu.name}{_shared_part(gpu, deployment.serving)}; {_cure(deployment)}"
    ]


def _shared_part(gpu: Gpu, how: Serving) -> str:
    if not gpu.shared or budget(gpu, how) == int(gpu.memory * how.utilisation):
        return ""
    return f", which also hold the system's {_gib(_SYSTEM)}"


def _cure(deployment: Deployment) -> str:
    cures = []
    longest = longest_context(deployment)
    if longest:
        cures.append(f"--max-model-len {_round(longest)} in vllm_server_extra_args")
    if deployment.serving.cache == "auto" and fits(
        replace(deployment, serving=replace(deployment.serving, cache="fp8"))
    ):
        cures.append("--kv-cache-dtype fp8 there")
    larger = _larger(deployment)
    if larger:
        cures.append(
            f"vllm_server_tensor_parallel_size: {larger.tensor} and vllm_server_pipeline_parallel_size: "
            f"{larger.pipeline}"
        )
    cures += _fewer_bits(deployment)
    if not cures:
        return "add hosts, or choose a smaller model"
    return f"what would fit: {', or '.join(cures)}"


def _round(tokens: int) -> int:
    """Return a number of tokens that people write: whole thousands (of 1,024) where there are some."""
    return tokens // 1024 * 1024 or tokens


def _larger(deployment: Deployment) -> _shape.Sizes | None:
    """Return the smallest sizes that fit on the GPUs that there are."""
    own, model = deployment.sizes, deployment.model
    present = sum(deployment.counts.values())
    candidates = [
        replace(own, tensor=tensor, pipeline=pipeline)
        for tensor in range(1, present + 1)
        for pipeline in range(1, present // tensor + 1)
        if own.replica < tensor * pipeline and pipeline <= model.layers
    ]
    for sizes in sorted(candidates, key=lambda each: (each.replica, each.pipeline)):
        if not _shape.problems(sizes, deployment.counts, deployment.head, model) and fits(
            replace(deployment, sizes=sizes)
        ):
            return sizes
    return None


def _fewer_bits(deployment: Deployment) -> list[str]:
    """Return the checkpoint of 8 or 4 bits per weight that fits, with a shorter context where it must be."""
    found = _model.parameters(deployment.model)
    ends = (found.embedding + found.head) * deployment.model.element
    sizes = {bits: ends + (found.layers + found.predictors) * bits // 8 for bits in (8, 4)}
    smaller = {
        bits: replace(deployment, weights=size)
        for bits, size in sizes.items()
        if size < deployment.weights
    }
    for bits, other in smaller.items():
        if fits(other):
            return [f"a checkpoint of {bits} bits per weight"]
    for bits, other in smaller.items():
        longest = longest_context(other)
        if longest:
            return [
                f"a checkpoint of {bits} bits per weight with --max-model-len {_round(longest)} in "
                "vllm_server_extra_args"
            ]
    return []


def capability_problems(
    name: str, method: str | None, found: Mapping[str, Sequence[Gpu]]
) -> list[str]:
    """Return why the GPUs are too old for a quantisation, a sentence for each host."""
    least = CAPABILITY.get((method or "").replace("_", "-"))
    said = []
    for host, own in sorted(found.items()):
        oldest = min(
            (gpu for gpu in own if gpu.capability is not None),
            key=lambda gpu: gpu.capability or 0,
            default=None,
        )
        if least is not None and oldest is not None and (oldest.capability or 0) < least:
            said.append(
                f"{host}: the quantisation {method} of {name} needs compute capability {least} or newer, got "
                f"{oldest.capability} ({oldest.name}); choose another checkpoint, or another GPU"
            )
    return said


def notes(deployment: Deployment, object_stores: Mapping[str, int | None]) -> list[str]:
    """Return what is worth knowing of a model that fits, a line each.

    object_stores: bytes that Ray's object store may take on each host, None where nothing is said.
    """
    places = _places(deployment)
    if not places or not fits(deployment):
        return []
    tokens = context(deployment)
    (host, stage), _unused = max(_missing(deployment, tokens).items(), key=lambda each: each[1])
    wants = need(deployment, stage, tokens)
    room = places[host, stage] - wants.weights - wants.working
    at_once = room // max(wants.cache, 1)
    lines = [
        f"on each GPU of {host}: weights {_gib(wants.weights)}, and at most {_gib(room)} of cache, "
        f"{at_once:,} requests of {tokens:,} tokens"
    ]
    asked = deployment.serving.sequences
    if asked and asked > at_once:
        lines.append(
            f"--max-num-seqs {asked} asks for more requests than that: long ones will wait, or be computed "
            "again; lower --max-model-len, or take the cache in fp8"
        )
    return lines + _shared_notes(deployment, object_stores)


def _shared_notes(deployment: Deployment, object_stores: Mapping[str, int | None]) -> list[str]:
    for host, own in sorted(deployment.gpus.items()):
        for gpu in own[:1]:
            stated = object_stores.get(host)
            store = int(gpu.memory * _OBJECT_STORE) if stated is None else stated
            left = gpu.memory - budget(gpu, deployment.serving) - _SYSTEM
            if gpu.shared and store > left:
                return [
                    f"{host}: CPU and GPU share {_gib(gpu.memory)}, of which vLLM may take "
                    f"{_gib(budget(gpu, deployment.serving))} and Ray's object store {_gib(store)}; lower "
                    "--gpu-memory-utilization in vllm_server_extra_args, or set --object-store-memory in "
                    "ray_node_extra_args"
                ]
    return []


def _gib(size: int) -> str:
    return f"{size / _GIB:,.1f} GiB"
