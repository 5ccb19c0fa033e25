# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a container says of its GPUs where the driver's library is absent, or answers."""

from __future__ import annotations

import ctypes
import importlib.util
import pathlib
import types
from typing import Any

import pytest

SCRIPT = pathlib.Path(__file__).parents[3] / "roles/ray_node/files/node/visible_gpus.py"


@pytest.fixture
def script() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("visible_gpus", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Answer:
    """A function of NVML: sets what its arguments point to, and returns a code."""

    def __init__(self, result: Any = 0, *values: int) -> None:
        self._result = result
        self._values = values

    def __call__(self, *arguments: Any) -> Any:
        pointers = [each for each in arguments if hasattr(each, "_obj")]
        for pointer, value in zip(pointers, self._values, strict=False):
            pointer._obj.value = value
        return self._result


def library(**functions: Answer) -> types.SimpleNamespace:
    """Return NVML with two whole GPUs, where nothing else is said."""
    return types.SimpleNamespace(
        **{
            "nvmlInit_v2": Answer(),
            "nvmlDeviceGetCount_v2": Answer(0, 2),
            "nvmlDeviceGetHandleByIndex_v2": Answer(0, 1),
            "nvmlDeviceGetMigMode": Answer(3),
            "nvmlErrorString": Answer(b"Unknown Error"),
            **functions,
        }
    )


@pytest.mark.parametrize(
    ("nvml", "seen"),
    [
        (library(), {"gpus": 2, "mig": False, "reason": None}),
        (
            library(nvmlDeviceGetMigMode=Answer(0, 1, 1)),
            {"gpus": 2, "mig": True, "reason": None},
        ),
        (
            library(nvmlInit_v2=Answer(999)),
            {"gpus": 0, "mig": False, "reason": "NVML says: Unknown Error"},
        ),
    ],
)
def test_what_nvml_says(
    script: types.ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    nvml: types.SimpleNamespace,
    seen: dict[str, Any],
) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: nvml)
    assert script.visible() == seen


def test_without_a_driver(script: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", absent)
    assert script.visible() == {
        "gpus": 0,
        "mig": False,
        "reason": "the driver's library is absent (libnvidia-ml.so.1: cannot open shared object file)",
    }
