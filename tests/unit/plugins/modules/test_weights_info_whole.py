# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""All files of a model with their full hashes, as a transfer needs them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.unit.modules import run_module
from tests.unit.plugins.modules.test_weights_info import safetensors, sha256


def entry(content: bytes) -> dict[str, Any]:
    return {"size": len(content), "hash": sha256(content), "full": sha256(content)}


def link(target: str) -> dict[str, Any]:
    return {"size": 0, "hash": f"-> {target}", "full": f"-> {target}"}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "m"
    for name in ("sub", "original", ".git"):
        (folder / name).mkdir(parents=True)
        (folder / name / "a.txt").write_text(name)
    (folder / "config.json").write_text("{}")
    (folder / ".hidden").write_text("x")
    (folder / "model-1.safetensors").write_bytes(safetensors(100))
    return folder


def read(path: Path, **more: Any) -> dict[str, Any]:
    found = run_module("weights_info", path=str(path), whole=True, **more)
    assert found["changed"] is False
    return dict(found["weights"])


def test_files_below_are_read_and_hidden_ones_are_not(model: Path) -> None:
    found = read(model, exclude=["original/*"])
    assert sorted(found["files"]) == ["config.json", "model-1.safetensors", "sub/a.txt"]
    shard = safetensors(100)
    assert found["files"]["model-1.safetensors"] == entry(shard)
    assert (found["folder"], found["staged"], found["writable"]) == (True, 0, True)
    assert found["free"] > 0


def test_what_is_not_there_still_has_its_room(tmp_path: Path) -> None:
    staging = tmp_path / "new" / ".m.samewire"
    staging.mkdir(parents=True)
    (staging / "part").write_bytes(b"12345")
    found = read(tmp_path / "new" / "m")
    assert (found["exists"], found["staged"], found["writable"]) == (False, 5, True)
    assert read(tmp_path / "newer" / "m")["writable"] is True


def test_hashes_are_computed_once(model: Path, tmp_path: Path) -> None:
    kept = tmp_path / "own" / "hashes.json"
    before = read(model, hashes=str(kept))
    known = json.loads(kept.read_text())
    name = str(model / "config.json")
    known[name][3] = "f" * 64
    kept.write_text(json.dumps(known))
    assert read(model, hashes=str(kept))["files"]["config.json"]["hash"] == "f" * 64
    os.utime(name, ns=(1, 1))
    assert read(model, hashes=str(kept))["files"] == before["files"]


def test_check_mode_keeps_no_hashes(model: Path, tmp_path: Path) -> None:
    found = run_module(
        "weights_info", check=True, path=str(model), whole=True, hashes=str(tmp_path / "h")
    )
    assert "config.json" in found["weights"]["files"]
    assert not (tmp_path / "h").exists()


def test_links(model: Path) -> None:
    (model / "inside.bin").symlink_to("sub/a.txt")
    (model / "outside.bin").symlink_to("/etc/hostname")
    (model / "gone.bin").symlink_to("nowhere")
    found = read(model)
    assert found["files"]["inside.bin"] == link("sub/a.txt")
    assert found["outside"] == {"outside.bin": "/etc/hostname"}
    assert "gone.bin" not in found["files"]


def test_an_index_below_and_a_short_shard(model: Path) -> None:
    index = {"weight_map": {"a": "a.txt", "b": "gone.safetensors"}}
    (model / "sub" / "model.safetensors.index.json").write_text(json.dumps(index))
    (model / "model-1.safetensors").write_bytes(safetensors(100)[:-1])
    found = read(model)
    assert found["missing"] == {"sub/model.safetensors.index.json": ["gone.safetensors"]}
    size = len(safetensors(100))
    assert found["broken"] == {"model-1.safetensors": [size, size - 1]}


def test_one_file(model: Path) -> None:
    found = read(model / "model-1.safetensors")
    assert (found["folder"], list(found["files"])) == (False, ["model-1.safetensors"])


def cache(folder: Path, commit: str = "abc") -> Path:
    """Write a repository of the hub's cache, and return its folder."""
    content = safetensors(50)
    for name in ("blobs", "refs", f"snapshots/{commit}", "snapshots/old"):
        (folder / name).mkdir(parents=True)
    (folder / "blobs" / sha256(content)).write_bytes(content)
    (folder / "blobs" / "other").write_bytes(b"of the old one")
    (folder / "refs" / "main").write_text(commit)
    (folder / "snapshots" / commit / "m.safetensors").symlink_to(f"../../blobs/{sha256(content)}")
    return folder


def test_a_snapshot_of_the_hub(tmp_path: Path) -> None:
    folder = cache(tmp_path / "models--o--m")
    blob = sha256(safetensors(50))
    found = read(folder, revision="main")
    assert found["files"] == {
        "refs/main": entry(b"abc"),
        "snapshots/abc/m.safetensors": link(f"../../blobs/{blob}"),
        f"blobs/{blob}": entry(safetensors(50)),
    }
    assert (found["base"], found["corrupt"], found["broken"]) == ("snapshots/abc/", {}, {})
    assert "refs/main" not in read(folder, revision="abc")["files"]


@pytest.mark.parametrize("revision", ["v1", "main"])
def test_a_revision_that_is_not_there(tmp_path: Path, revision: str) -> None:
    folder = cache(tmp_path / "models--o--m")
    (folder / "refs" / "main").write_text("not-downloaded")
    assert read(folder, revision=revision)["exists"] is False


def test_a_blob_that_is_damaged(tmp_path: Path) -> None:
    folder = cache(tmp_path / "models--o--m")
    blob = sha256(safetensors(50))
    (folder / "blobs" / blob).write_bytes(safetensors(50)[:-1] + b"x")
    damaged = sha256(safetensors(50)[:-1] + b"x")
    assert read(folder, revision="main")["corrupt"] == {f"blobs/{blob}": [blob, damaged]}
