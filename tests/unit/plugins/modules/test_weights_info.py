# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The files of a model as they lie on a disk."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _weights_files
from ansible_collections.samewire.vllm.plugins.module_utils._weights_hashes import Hashes
from tests.unit.modules import run_module


def safetensors(size: int) -> bytes:
    header = json.dumps({"x": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(size)


@pytest.fixture
def model(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "README.md").write_text("a model")
    (tmp_path / ".hidden.json").write_text("{}")
    (tmp_path / "model-1.safetensors").write_bytes(safetensors(100))
    return tmp_path


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read(path: pathlib.Path, **more: Any) -> dict[str, Any]:
    found = run_module("weights_info", path=str(path), **more)
    assert found["changed"] is False
    return dict(found["weights"])


def test_a_whole_model(model: pathlib.Path) -> None:
    contents = {
        "README.md": b"a model",
        "config.json": b"{}",
        "model-1.safetensors": safetensors(100),
    }
    found = read(model)
    assert found["files"] == {
        name: {"size": len(content), "hash": sha256(content), "full": sha256(content)}
        for name, content in contents.items()
    }
    assert (found["folder"], found["reason"], found["config"]) == (True, None, {})
    assert (found["missing"], found["broken"], found["mount"]) == ({}, {}, None)
    assert found["account"] == f"{os.geteuid()}:{os.getegid()}"


def test_what_config_json_says_of_sizes(model: pathlib.Path) -> None:
    config = {"hidden_size": 64, "id2label": {"0": "never kept"}}
    (model / "config.json").write_text(json.dumps(config))
    assert read(model)["config"] == {"hidden_size": 64}
    for none in ("[]", "{"):
        (model / "config.json").write_text(none)
        assert read(model)["config"] is None


def test_no_model(tmp_path: pathlib.Path) -> None:
    assert read(tmp_path / "absent")["exists"] is False


def test_one_file(model: pathlib.Path) -> None:
    found = read(model / "model-1.safetensors")
    assert (found["folder"], list(found["files"])) == (False, ["model-1.safetensors"])


def test_what_the_index_misses(model: pathlib.Path) -> None:
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (model / "model.safetensors.index.json").write_text(json.dumps(index))
    (model / "model-2.safetensors").symlink_to(model / "gone")
    missing = {"model.safetensors.index.json": ["model-2.safetensors"]}
    assert read(model)["missing"] == missing


def test_an_index_that_is_none(model: pathlib.Path) -> None:
    (model / "model.safetensors.index.json").write_text("{}")
    missing = {"model.safetensors.index.json": ["nothing (it has no weight_map)"]}
    assert read(model)["missing"] == missing


@pytest.mark.parametrize("cut", [0, 4, 20, 150])
def test_a_download_that_ended_early(model: pathlib.Path, cut: int) -> None:
    whole = safetensors(100)
    (model / "model-1.safetensors").write_bytes(whole[:cut])
    expected = len(whole) if cut == 150 else None
    assert read(model)["broken"] == {"model-1.safetensors": [expected, cut]}


@pytest.mark.parametrize("place", [0, (19 << 20) + 5, -1])
def test_a_large_file_is_sampled_at_its_start_middle_and_end(
    model: pathlib.Path, place: int
) -> None:
    file = model / "model.bin"
    with file.open("wb") as stream:
        stream.truncate(40 << 20)
    before = read(model)["files"]["model.bin"]
    with file.open("r+b") as stream:
        stream.seek(place, os.SEEK_END if place < 0 else os.SEEK_SET)
        stream.write(b"x")
    after = read(model)["files"]["model.bin"]
    assert (before["size"], before["full"]) == (after["size"], after["full"]) == (40 << 20, None)
    assert before["hash"] != after["hash"]


def test_a_large_file_that_was_hashed_once_is_known(model: pathlib.Path) -> None:
    file, kept = model / "model.bin", model / "own" / "hashes.json"
    file.write_bytes(bytes(17 << 20))
    assert read(model, hashes=str(kept))["files"]["model.bin"]["full"] is None
    assert not kept.exists()
    whole = read(model, hashes=str(kept), whole=True)["files"]["model.bin"]
    again = read(model, hashes=str(kept))["files"]["model.bin"]
    assert again["full"] == whole["full"] == whole["hash"] == sha256(bytes(17 << 20))
    os.utime(file, ns=(1, 1))
    assert read(model, hashes=str(kept))["files"]["model.bin"]["full"] is None


def test_a_folder_that_may_not_be_read(
    model: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str) -> list[str]:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = _weights_files.read(str(model), "", [], Hashes(), whole=False)
    assert found["reason"] == f"[Errno 13] Permission denied: '{model}'"
