# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A config.json says the figures of the model, held against what its makers published."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import yaml

from ansible_collections.samewire.vllm.plugins.module_utils import _fit, _model, _shape

PUBLISHED = yaml.safe_load(
    (pathlib.Path(__file__).parent / "data" / "models.yml").read_text(encoding="utf-8")
)


def published(name: str) -> _model.Model:
    """Return the figures of a model of data/models.yml."""
    config = next(each["config"] for each in PUBLISHED if each["name"] == name)
    return _model.parse(_model.facts(config))


@pytest.mark.parametrize("case", PUBLISHED, ids=lambda case: case["name"])
def test_the_parameters_are_the_published_ones(case: dict[str, Any]) -> None:
    found = _model.parameters(published(case["name"]))
    expected = case.get("parameters") or case["files"] / 2
    assert found.total + found.predictors == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("case", PUBLISHED, ids=lambda case: case["name"])
def test_the_cache_of_a_token_is_the_published_one(case: dict[str, Any]) -> None:
    # The batch that is being computed stays in a window for a while; one token does not show.
    how, tokens = _fit.Serving(batched=1), 32768
    held = _fit.cache_per_request(published(case["name"]), how, _shape.Sizes(), 0, tokens)
    assert held == case["cache"] * tokens


def small(**changes: Any) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": 64,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "vocab_size": 512,
        "max_position_embeddings": 256,
        "id2label": {"0": "never kept"},
        **changes,
    }


def parsed(**changes: Any) -> _model.Model:
    return _model.parse(_model.facts(small(**changes)))


def test_what_is_not_said_is_as_transformers_takes_it() -> None:
    model = parsed()
    assert (model.kv_heads, model.head_dim, model.tied, model.element) == (4, 16, False, 2)
    assert model.windows == (None,) * 4


def test_only_sizes_are_kept() -> None:
    kept = _model.facts(small(quantization_config={"quant_method": "fp8", "modules": ["a"] * 1000}))
    assert "id2label" not in kept
    assert kept["quantization_config"] == {"quant_method": "fp8"}


@pytest.mark.parametrize(
    "key", ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"]
)
def test_a_figure_that_is_missing_is_named(key: str) -> None:
    for wrong in (None, "many", -1, True):
        with pytest.raises(_model.UnknownModel, match=f"^{key}$"):
            parsed(**{key: wrong})


@pytest.mark.parametrize(
    ("changes", "windows"),
    [
        ({"sliding_window": 8}, (8,) * 4),
        ({"sliding_window": 8, "use_sliding_window": False}, (None,) * 4),
        ({"model_type": "gemma2", "sliding_window": 8}, (8, None, 8, None)),
        ({"sliding_window": 8, "sliding_window_pattern": 4}, (8, 8, 8, None)),
        ({"full_attention_interval": 4}, (0, 0, 0, None)),
        ({"hybrid_override_pattern": "M-M*"}, (0, 0, 0, None)),
        (
            {
                "layer_types": ["chunked_attention"] * 3 + ["full_attention"],
                "attention_chunk_size": 16,
            },
            (16, 16, 16, None),
        ),
    ],
)
def test_which_layers_keep_what(changes: dict[str, Any], windows: tuple[int | None, ...]) -> None:
    assert parsed(**changes).windows == windows


def test_layers_that_are_not_known() -> None:
    with pytest.raises(_model.UnknownModel, match=r"^layers of type wavelet$"):
        parsed(layer_types=["wavelet"] * 4)
    with pytest.raises(_model.UnknownModel, match=r"^the type of each layer$"):
        parsed(layer_types=["full_attention"])


@pytest.mark.parametrize(
    ("scaling", "context"),
    [
        (None, 256),
        ({"type": "linear", "factor": 4.0}, 1024),
        ({"rope_type": "yarn", "factor": 4.0}, 256),
        ({"rope_type": "llama3", "factor": 8.0}, 256),
    ],
)
def test_the_longest_context(scaling: dict[str, Any] | None, context: int) -> None:
    assert parsed(rope_scaling=scaling).context == context


@pytest.mark.parametrize(
    ("quantisation", "method"),
    [
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "compressed_tensors"}, "compressed-tensors"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "modelopt-fp4"),
        ({}, None),
    ],
)
def test_the_quantisation(quantisation: dict[str, str], method: str | None) -> None:
    assert parsed(quantization_config=quantisation).quantisation == method


@pytest.mark.parametrize(
    ("layers", "pipeline", "sizes"),
    [
        (32, 2, [16, 16]),
        (61, 2, [31, 30]),
        (94, 4, [23, 24, 24, 23]),
        (5, 3, [2, 2, 1]),
        (4, 1, [4]),
    ],
)
def test_the_layers_of_each_stage(layers: int, pipeline: int, sizes: list[int]) -> None:
    found = _model.stages(layers, pipeline)
    assert [len(stage) for stage in found] == sizes
    assert [layer for stage in found for layer in stage] == list(range(layers))


def test_a_model_that_is_cut_before_its_first_layer_with_experts() -> None:
    case = next(each for each in PUBLISHED if each["name"] == "DeepSeek-V3")
    cut = _model.parse({**case["config"], "num_hidden_layers": 2})
    assert cut.dense_layers == 2
    assert _model.parameters(cut).experts == 0
