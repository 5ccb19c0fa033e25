# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a model's config.json says of its size: layers, heads, cache, parameters.

Sources: the key names that vLLM 0.32 reads, vllm/transformers_utils/model_arch_config_convertor.py; which
layers have a window, transformers' configuration classes of Gemma 2 and 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# What is kept of a config.json; the rest (labels, lists of modules) can be long and says nothing of sizes.
KEYS = (
    *("architectures", "model_type", "dtype", "torch_dtype", "tie_word_embeddings", "vocab_size"),
    *("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim"),
    *("intermediate_size", "max_position_embeddings", "rope_scaling", "layer_types"),
    *("sliding_window", "use_sliding_window", "sliding_window_pattern", "attention_chunk_size"),
    *("full_attention_interval", "hybrid_override_pattern", "num_nextn_predict_layers"),
    *("mtp_num_hidden_layers", "num_experts", "num_local_experts", "n_routed_experts"),
    *("num_experts_per_tok", "moe_intermediate_size", "shared_expert_intermediate_size"),
    *(
        "n_shared_experts",
        "first_k_dense_replace",
        "mlp_only_layers",
        "kv_lora_rank",
        "q_lora_rank",
    ),
    *("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim"),
)
_QUANTISATION_KEYS = ("quant_method", "quant_algo")
_ELEMENT = {"float32": 4, "float16": 2, "bfloat16": 2}
# These give max_position_embeddings as it is after scaling; source: vLLM, _get_and_verify_max_len.
_SCALED_ALREADY = ("su", "longrope", "llama3", "yarn", "deepseek_yarn", "default", "mrope")


class UnknownModel(Exception):
    """A config.json does not say what a judgement needs; the text says what it lacks."""


@dataclass(frozen=True)
class Model:
    """The figures of a model.

    windows: for each layer None where its cache grows with the context, else the tokens that it keeps (0
    for layers without such a cache); latent: elements that MLA caches per token and layer, None without
    MLA; element: bytes of an unquantised weight in the files; predictors: layers of multi-token
    prediction, in the files but not loaded.
    """

    architecture: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    context: int
    windows: tuple[int | None, ...]
    tied: bool = False
    element: int = 2
    intermediate: int = 0
    experts: int = 0
    experts_per_token: int = 0
    expert_intermediate: int = 0
    shared_intermediate: int = 0
    dense_layers: int = 0
    predictors: int = 0
    latent: int | None = None
    attention_parameters: int = 0
    quantisation: str | None = None


@dataclass(frozen=True)
class Parameters:
    """Numbers of parameters, by where they are: the layers' are split into experts and the rest."""

    embedding: int
    head: int
    dense: int
    experts: int
    predictors: int

    @property
    def layers(self) -> int:
        """Parameters of all layers."""
        return self.dense + self.experts

    @property
    def total(self) -> int:
        """Parameters that vLLM loads."""
        return self.embedding + self.head + self.layers


def facts(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of a config.json, flat: the text part of a multimodal model wins."""
    text = _mapping(config.get("text_config"))
    kept = {key: source[key] for source in (config, text) for key in KEYS if key in source}
    if "architectures" in config:
        kept["architectures"] = config["architectures"]
    quantisation = _mapping(config.get("quantization_config") or text.get("quantization_config"))
    if quantisation:
        kept["quantization_config"] = {
            key: quantisation[key] for key in _QUANTISATION_KEYS if key in quantisation
        }
    return kept


def parse(own: Mapping[str, Any]) -> Model:
    """Return the figures of a model from what `facts` kept.

    Raises:
        UnknownModel: a figure is missing or none.
    """
    layers = _figure(own, "num_hidden_layers")
    hidden = _figure(own, "hidden_size")
    heads = _figure(own, "num_attention_heads")
    kv_heads = _number(own, "num_key_value_heads") or heads
    head_dim = _number(own, "head_dim") or hidden // heads
    experts = _first(own, "num_experts", "n_routed_experts", "num_local_experts")
    intermediate = _number(own, "intermediate_size")
    expert_intermediate = (_number(own, "moe_intermediate_size") or intermediate) if experts else 0
    quantisation = _mapping(own.get("quantization_config"))
    rank = _number(own, "kv_lora_rank")
    return Model(
        architecture=str((own.get("architectures") or ["unknown"])[0]),
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocabulary=_figure(own, "vocab_size"),
        context=_context(own),
        windows=_windows(own, layers),
        tied=_tied(own),
        element=_ELEMENT.get(_dtype(own), 2),
        intermediate=intermediate,
        experts=experts,
        experts_per_token=_number(own, "num_experts_per_tok"),
        expert_intermediate=expert_intermediate,
        shared_intermediate=_number(own, "shared_expert_intermediate_size")
        or _number(own, "n_shared_experts") * expert_intermediate,
        dense_layers=_dense_layers(own, layers) if experts else layers,
        predictors=_first(own, "num_nextn_predict_layers", "mtp_num_hidden_layers"),
        latent=rank + _figure(own, "qk_rope_head_dim") if rank else None,
        attention_parameters=_latent_attention(own, hidden, heads)
        if rank
        else hidden * head_dim * (2 * heads + 2 * kv_heads),
        quantisation=_quantisation(quantisation),
    )


def _dense_layers(own: Mapping[str, Any], layers: int) -> int:
    """Return how many layers of a model with experts have none."""
    first = _number(own, "first_k_dense_replace")
    return min(first + len(own.get("mlp_only_layers") or ()), layers)


def parameters(model: Model) -> Parameters:
    """Return the numbers of parameters; norms, biases and routers are left out, far below one percent."""
    matrix = model.vocabulary * model.hidden
    expert_layer = 3 * model.hidden * model.experts * model.expert_intermediate
    expert_layers = model.layers - model.dense_layers
    beside = 3 * model.hidden * model.shared_intermediate
    return Parameters(
        embedding=matrix,
        head=0 if model.tied else matrix,
        dense=model.layers * model.attention_parameters
        + model.dense_layers * 3 * model.hidden * model.intermediate
        + expert_layers * beside,
        experts=expert_layers * expert_layer,
        predictors=model.predictors
        * (
            model.attention_parameters
            + (expert_layer + beside if model.experts else 3 * model.hidden * model.intermediate)
        ),
    )


def stages(layers: int, pipeline: int) -> list[range]:
    """Return the layers of each pipeline stage; source: vLLM's get_pp_indices, vllm/distributed/utils.py."""
    sizes = [layers // pipeline] * pipeline
    # The last stage has the head of the model, so what remains goes to those before it.
    for before in range(layers % pipeline):
        sizes[-before - 2] += 1
    starts = [sum(sizes[:stage]) for stage in range(pipeline)]
    return [range(start, start + size) for start, size in zip(starts, sizes)]


def _latent_attention(own: Mapping[str, Any], hidden: int, heads: int) -> int:
    """Return the parameters of one layer of multi-head latent attention (DeepSeek-V2, arXiv 2405.04434)."""
    rope, nope = _figure(own, "qk_rope_head_dim"), _figure(own, "qk_nope_head_dim")
    value, rank = _figure(own, "v_head_dim"), _figure(own, "kv_lora_rank")
    queries = heads * (nope + rope)
    query_rank = _number(own, "q_lora_rank")
    query = query_rank * (hidden + queries) if query_rank else hidden * queries
    return query + hidden * (rank + rope) + rank * heads * (nope + value) + heads * value * hidden


def _windows(own: Mapping[str, Any], layers: int) -> tuple[int | None, ...]:
    window = own.get("sliding_window") if own.get("use_sliding_window", True) else None
    kinds = own.get("layer_types") or _kinds(own, layers, windowed=bool(window))
    kept = {
        "full_attention": None,
        "attention": None,
        "sliding_attention": window,
        "chunked_attention": own.get("attention_chunk_size"),
        "linear_attention": 0,
        "mamba": 0,
        "conv": 0,
        "mlp": 0,
    }
    unknown = sorted({str(kind) for kind in kinds} - set(kept))
    if unknown:
        raise UnknownModel(f"layers of type {unknown[0]}")
    if len(kinds) != layers:
        raise UnknownModel("the type of each layer")
    return tuple(kept[kind] for kind in kinds)


def _kinds(own: Mapping[str, Any], layers: int, *, windowed: bool) -> list[str]:
    """Return the type of each layer where a config.json gives a rule instead of a list."""
    pattern = own.get("hybrid_override_pattern")
    if pattern:
        # Nemotron-H writes a letter for each layer.
        letters = {"*": "attention", "M": "mamba", "-": "mlp", "E": "mlp"}
        return [letters.get(letter, letter) for letter in str(pattern)]
    interval = _number(own, "full_attention_interval")
    if interval:
        return [
            "linear_attention" if each % interval else "attention" for each in range(1, layers + 1)
        ]
    # Gemma 2 alternates and Gemma 3 has one full layer in six, also where their files do not say it.
    model_type = str(own.get("model_type", ""))
    every = _number(own, "sliding_window_pattern") or (
        2 if model_type.startswith("gemma2") else 6 if model_type.startswith("gemma3") else 0
    )
    if windowed and every:
        return [
            "sliding_attention" if each % every else "attention" for each in range(1, layers + 1)
        ]
    return ["sliding_attention" if windowed else "attention"] * layers


def _context(own: Mapping[str, Any]) -> int:
    longest = _figure(own, "max_position_embeddings")
    scaling = _mapping(own.get("rope_scaling"))
    kind = scaling.get("rope_type") or scaling.get("type") or "default"
    factor = scaling.get("factor")
    gemma = str(own.get("model_type", "")).startswith("gemma3")
    if kind in _SCALED_ALREADY or gemma or not isinstance(factor, (int, float)):
        return longest
    return int(longest * factor)


def _tied(own: Mapping[str, Any]) -> bool:
    # Gemma's classes tie unless told otherwise; all others do not.
    gemma = str(own.get("model_type", "")).startswith("gemma")
    return bool(own.get("tie_word_embeddings", gemma))


def _dtype(own: Mapping[str, Any]) -> str:
    return str(own.get("dtype") or own.get("torch_dtype")).rpartition(".")[2]


def _quantisation(config: Mapping[str, Any]) -> str | None:
    method = str(config.get("quant_method") or "").lower().replace("_", "-") or None
    # ModelOpt's two formats share one name; vLLM tells them apart by the algorithm.
    if method == "modelopt" and "FP4" in str(config.get("quant_algo", "")).upper():
        return "modelopt-fp4"
    return method


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(own: Mapping[str, Any], key: str) -> int:
    value = own.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _first(own: Mapping[str, Any], *keys: str) -> int:
    return next((number for number in (_number(own, key) for key in keys) if number), 0)


def _figure(own: Mapping[str, Any], key: str) -> int:
    number = _number(own, key)
    if not number:
        raise UnknownModel(key)
    return number
