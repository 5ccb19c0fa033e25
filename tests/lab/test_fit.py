# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a model is said to need, against what vLLM itself reports: published models, cut to a few layers."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import pytest
from docker import DockerClient

from ansible_collections.samewire.vllm.plugins.module_utils import _fit, _model, _shape
from samewire_lab import spec
from tests.lab.fit_report import MARK
from tests.unit.plugins.module_utils.test_model import PUBLISHED

CONTEXT = 8192
CACHE = 1 << 30
# What each rank imports, before it loads the model.
RANKS = "import fit_report\nfrom fit_report import Ranks\nfit_report.count()\n"
CONCURRENCY = re.compile(r"Maximum concurrency for [\d,]+ tokens per request: ([\d.]+)x")

pytestmark = pytest.mark.heals
Rows = list[tuple[str, ...]]


def config(name: str, layers: int) -> dict[str, Any]:
    """Return the configuration of a published model with so few layers that this machine holds it."""
    own = dict(next(each["config"] for each in PUBLISHED if each["name"] == name))
    # Neither changes a size; without weights there is nothing to be unpacked.
    for key in ("rope_scaling", "layer_types", "quantization_config"):
        own.pop(key, None)
    return {**own, "num_hidden_layers": layers}


@pytest.mark.parametrize(
    ("name", "layers", "tensor", "pipeline"),
    [
        ("Llama-3.1-8B", 4, 1, 1),
        ("Llama-3.1-8B", 4, 2, 1),
        ("Llama-3.1-8B", 4, 1, 2),
        ("phi-4", 2, 1, 1),
        ("Qwen3-32B", 2, 2, 1),
        ("Gemma-2-27B", 2, 1, 1),
        ("Gemma-2-27B", 2, 2, 1),
        ("Mixtral-8x7B", 1, 1, 1),
        ("Mixtral-8x7B", 1, 2, 1),
        ("DeepSeek-V3", 2, 1, 1),
    ],
)
def test_what_vllm_reports(
    client: DockerClient,
    tmp_path: pathlib.Path,
    rows: Rows,
    name: str,
    layers: int,
    tensor: int,
    pipeline: int,
) -> None:
    own = config(name, layers)
    (tmp_path / "config.json").write_text(json.dumps(own))
    (tmp_path / "fit_ranks.py").write_text(RANKS)
    said = client.containers.run(
        f"{spec.REGISTRY_PUSH}/{spec.IMAGE}:{spec.IMAGE_TAG}",
        entrypoint="/opt/vllm-env/bin/python",
        command=[
            "-c",
            f"import fit_report; fit_report.main('/model', {tensor}, {pipeline}, {CONTEXT})",
        ],
        environment={
            "PYTHONPATH": "/report",
            "VLLM_CPU_KVCACHE_SPACE": str(CACHE >> 30),
            # Ranks of one container want a core each, however many there are.
            "VLLM_CPU_OMP_THREADS_BIND": "|".join(["0", "1"][: tensor * pipeline]),
        },
        volumes=[
            f"{tmp_path}:/model:ro",
            f"{pathlib.Path(__file__).parent / 'fit_report.py'}:/report/fit_report.py:ro",
            f"{tmp_path / 'fit_ranks.py'}:/report/fit_ranks.py:ro",
        ],
        network_mode="none",
        shm_size="2g",
        remove=True,
        stderr=True,
    ).decode()
    reported = json.loads(said.rpartition(MARK)[2].partition("\n")[0])

    model = _model.parse(own)
    found = _model.parameters(model)
    files = (found.total + found.predictors) * model.element
    sizes = _shape.Sizes(tensor=tensor, pipeline=pipeline)
    how = _fit.serving([f"--max-model-len={CONTEXT}"])
    ranks = [
        _fit.weights_per_rank(model, files, how, sizes, stage)
        for stage in range(pipeline)
        for _ in range(tensor)
    ]
    cache = max(
        _fit.cache_per_request(model, how, sizes, stage, CONTEXT) for stage in range(pipeline)
    )
    concurrency = CONCURRENCY.findall(said)
    rows.append(
        (
            f"{name}, {layers} layers, TP {tensor}, PP {pipeline}",
            f"weights {ranks} bytes, vLLM {reported}",
            f"requests of {CONTEXT} tokens in 1 GiB {CACHE / cache:.2f}, vLLM {concurrency[-1]}",
        )
    )
    assert ranks == pytest.approx(reported, rel=0.1)
    assert CACHE / cache == pytest.approx(float(concurrency[-1]), rel=0.1)
