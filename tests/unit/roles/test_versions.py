# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What an image says of itself, on a Python whose packages are those of the test."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest

SCRIPT = pathlib.Path(__file__).parents[3] / "roles/container_image/files/versions.py"
REGISTRY = """
import torch

_TEXT_GENERATION_MODELS = {"LlamaForCausalLM": ("llama", "LlamaForCausalLM")}
_MULTIMODAL_MODELS = {"LlavaForCausalLM": ("llava", "LlavaForCausalLM")}
_PREVIOUSLY_SUPPORTED_MODELS = {"OldForCausalLM": "0.9"}
_VLLM_MODELS = {**_TEXT_GENERATION_MODELS, **_MULTIMODAL_MODELS}
"""
AUTO = 'MAPPING = OrderedDict([("zamba", "ZambaForCausalLM")])'


def install(site: pathlib.Path, name: str, version: str, **plugins: str) -> None:
    metadata = site / f"{name}-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = "".join(f"{key} = {value}\n" for key, value in plugins.items())
    (metadata / "entry_points.txt").write_text(f"[vllm.general_plugins]\n{lines}")


@pytest.fixture
def site(tmp_path: pathlib.Path) -> pathlib.Path:
    """Packages vllm and transformers that fail when they are imported."""
    for file, text in {
        "vllm/model_executor/models/registry.py": REGISTRY,
        "transformers/models/auto/modeling_auto.py": AUTO,
    }.items():
        path = tmp_path / file
        path.parent.mkdir(parents=True)
        path.write_text(text)
        (tmp_path / file.partition("/")[0] / "__init__.py").write_text("raise ImportError")
    install(tmp_path, "vllm", "0.32.0+cpu", lora="vllm.plugins.lora:register")
    install(tmp_path, "transformers", "5.19.0")
    return tmp_path


def ask(site: pathlib.Path, *architectures: str) -> dict[str, Any]:
    argv = [sys.executable, "-S", "-c", SCRIPT.read_text(), *architectures]
    done = subprocess.run(
        argv, check=True, capture_output=True, text=True, env={"PYTHONPATH": str(site)}
    )
    return dict(json.loads(done.stdout.removeprefix("samewire:versions ")))


def test_the_versions(site: pathlib.Path) -> None:
    found = ask(site)
    assert found.pop("python").startswith("3.")
    assert found == {
        "ray": None,
        "vllm": "0.32.0+cpu",
        "transformers": "5.19.0",
        "knows_model": True,
    }


@pytest.mark.parametrize(
    ("architectures", "knows"),
    [
        (["LlamaForCausalLM"], True),
        (["LlavaForCausalLM"], True),
        (["ZambaForCausalLM"], True),
        (["NovelForCausalLM", "LlamaForCausalLM"], True),
        (["NovelForCausalLM"], False),
        (["OldForCausalLM"], False),
    ],
)
def test_which_model_it_knows(site: pathlib.Path, architectures: list[str], knows: bool) -> None:
    assert ask(site, *architectures)["knows_model"] is knows


def test_a_plugin_may_know_any_model(site: pathlib.Path) -> None:
    install(site, "novel", "1.0", novel="novel:register")
    assert ask(site, "NovelForCausalLM")["knows_model"] is True


def test_without_a_registry_nobody_can_tell(tmp_path: pathlib.Path) -> None:
    found = ask(tmp_path, "NovelForCausalLM")
    assert (found["vllm"], found["knows_model"]) == (None, True)
