#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: which files a model has on a host, by size and hash; changes nothing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: weights_info
short_description: Read which files a model has on a host, and whether they are whole
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Reads names, sizes and hashes of the files of a model that its loaders read. Of a file over 16 MiB only
    samples from its start, middle and end are hashed, so that a large model takes seconds.
  - Compares the shards with the index, and the size of each safetensors file with its own header.
  - Keeps of C(config.json) what says how large the model is.
  - With O(whole) reads all files that make up the model, also in folders below, hashes them in full, and
    says whether the host could receive them.
attributes:
  check_mode:
    description: Can run in check mode; it never changes anything.
    support: full
options:
  path:
    description: The folder of the model, or its only file.
    type: path
    required: true
  whole:
    description: Whether to hash whole files; hidden files and folders are left out.
    type: bool
    default: false
  revision:
    description: >-
      Branch, tag or commit, where O(path) is the folder of a repository in the hub's cache; its snapshot,
      blobs and ref are read.
    type: str
    default: ""
  exclude:
    description: Patterns of names, relative to the model, that are left out of O(whole).
    type: list
    elements: str
    default: []
  hashes:
    description: File that keeps the hashes of O(whole), so that they are computed once; not in check mode.
    type: path
"""

EXAMPLES = r"""
- name: Read the weights
  samewire.vllm.weights_info:
    path: /models/qwen
  register: weights
"""

RETURN = r"""
weights:
  description: What was found.
  returned: always
  type: dict
  sample:
    exists: true
    folder: true
    reason: null
    files: {config.json: {size: 812, hash: 5f2c…}}
    missing: {model.safetensors.index.json: [model-00002-of-00002.safetensors]}
    broken: {model-00001-of-00002.safetensors: [4987654321, 1234]}
    config: {architectures: [LlamaForCausalLM], num_hidden_layers: 32, hidden_size: 4096}
    base: ""
    corrupt: {}
    outside: {}
    staged: 0
    free: 812345678
    writable: true
    rsync: true
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import _model, _weights, _weights_hashes

_WHOLE = 16 << 20
_SAMPLE = 1 << 20


def _hash(path: str, size: int) -> str:
    digest = hashlib.sha256()
    starts = (
        range(0, size, _SAMPLE)
        if size <= _WHOLE
        else (0, (size - _SAMPLE) // 2 // _SAMPLE * _SAMPLE, size - _SAMPLE)
    )
    with open(path, "rb") as file:
        for start in starts:
            file.seek(start)
            digest.update(file.read(_SAMPLE))
    return digest.hexdigest()


def _expected_size(path: str) -> int | None:
    """Return the size that a safetensors file must have by its header, or None where that is none."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 0 < length <= _weights.LONGEST_HEADER:
            return None
        try:
            return _weights.safetensors_size(file.read(length))
        except ValueError:
            return None


def _missing(path: str, present: dict[str, Any]) -> list[str]:
    with open(path, encoding="utf-8") as file:
        try:
            named = _weights.shards(file.read())
        except ValueError as error:
            return [f"nothing ({error})"]
    return [name for name in named if name not in present]


def _config(path: str) -> dict[str, Any] | None:
    with open(path, encoding="utf-8") as file:
        try:
            config = json.load(file)
        except ValueError:
            return None
    return _model.facts(config) if isinstance(config, dict) else None


def read(path: str) -> dict[str, Any]:
    """Return what is to be known of the model in a path that exists."""
    found: dict[str, Any] = {
        "exists": True,
        "folder": os.path.isdir(path),
        "reason": None,
        "files": {},
        "missing": {},
        "broken": {},
        "config": None,
    }
    try:
        _fill(path, found)
    except OSError as error:
        found["reason"] = str(error)
    return found


def _fill(path: str, found: dict[str, Any]) -> None:
    folder = path if found["folder"] else os.path.dirname(path)
    names = os.listdir(path) if found["folder"] else [os.path.basename(path)]
    for name in sorted(names):
        full = os.path.join(folder, name)
        # The hub's cache keeps links; one that leads nowhere is a file that is missing.
        if not _weights.is_read(name) or not os.path.isfile(full):
            continue
        size = os.path.getsize(full)
        found["files"][name] = {"size": size, "hash": _hash(full, size)}
        if name.endswith(".safetensors"):
            expected = _expected_size(full)
            if expected != size:
                found["broken"][name] = [expected, size]
    for name in found["files"]:
        if name.endswith(_weights.INDEX):
            missing = _missing(os.path.join(folder, name), found["files"])
            if missing:
                found["missing"][name] = missing
    if "config.json" in found["files"]:
        found["config"] = _config(os.path.join(folder, "config.json"))


def _walk(folder: str, exclude: list[str]) -> Iterator[str]:
    """Yield the names of a model's files, relative to its folder, in order."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            relative = os.path.relpath(os.path.join(parent, name), folder)
            hidden = name.startswith(".")
            if not hidden and not any(fnmatch(relative, pattern) for pattern in exclude):
                yield relative


def _snapshot(path: str, revision: str) -> tuple[str, list[str]] | None:
    """Return the snapshot of a revision in the hub's cache as a name that ends in a slash, and its ref."""
    ref = f"refs/{revision}"
    commit, refs = revision, []
    if os.path.isfile(os.path.join(path, ref)):
        refs = [ref]
        with open(os.path.join(path, ref), encoding="utf-8") as file:
            commit = file.read().strip()
    base = f"snapshots/{commit}/"
    return (base, refs) if os.path.isdir(os.path.join(path, base)) else None


def read_whole(
    path: str, revision: str, exclude: list[str], known: _weights_hashes.Hashes
) -> dict[str, Any]:
    """Return all files of the model in a path, or that there are none."""
    base, names = "", []
    if revision:
        snapshot = _snapshot(path, revision)
        if snapshot is None:
            return {"exists": False}
        base, names = snapshot
    elif not os.path.exists(path):
        return {"exists": False}
    found: dict[str, Any] = {
        "exists": True,
        "folder": os.path.isdir(path),
        "reason": None,
        "base": base,
        **{kind: {} for kind in ("files", "missing", "broken", "corrupt", "outside")},
    }
    try:
        if not found["folder"]:
            path, names = os.path.dirname(path), [os.path.basename(path)]
        else:
            names += [base + name for name in _walk(os.path.join(path, base), exclude)]
        _fill_whole(path, names, found, known)
    except OSError as error:
        found["reason"] = str(error)
    return found


def _fill_whole(
    root: str, names: list[str], found: dict[str, Any], known: _weights_hashes.Hashes
) -> None:
    targets = []
    for name in names:
        full = os.path.join(root, name)
        if not os.path.islink(full):
            targets.append(name)
            continue
        target = os.readlink(full)
        inside = os.path.relpath(os.path.join(os.path.dirname(full), target), root)
        if not os.path.isfile(full):
            continue
        if os.path.isabs(target) or inside.startswith(".."):
            found["outside"][name] = target
            continue
        found["files"][name] = {"size": 0, "hash": f"-> {target}"}
        targets.append(inside)
    for name, entry in zip(targets, _entries(root, targets, known)):
        found["files"][name] = entry
        # The hub names a large file after its SHA-256; source: the layout of its cache.
        blob = os.path.basename(name) if name.startswith("blobs/") and found["base"] else ""
        if len(blob) == 64 and blob != entry["hash"]:
            found["corrupt"][name] = [blob, entry["hash"]]
    for name in list(found["files"]):
        _judge(root, name, found)


def _entries(
    root: str, names: list[str], known: _weights_hashes.Hashes
) -> Iterator[dict[str, Any]]:
    def entry(name: str) -> dict[str, Any]:
        full = os.path.join(root, name)
        stat = os.stat(full)
        digest = known.get(full, stat)
        if digest is None:
            with open(full, "rb") as file:
                digest = _weights_hashes.sha256(file)
            known.keep(full, stat, digest)
        return {"size": stat.st_size, "hash": digest}

    # Hashing leaves the interpreter to other threads; four keep up with most disks.
    with ThreadPoolExecutor(4) as pool:
        return iter(list(pool.map(entry, names)))


def _judge(root: str, name: str, found: dict[str, Any]) -> None:
    """Note what a safetensors file or an index says against the files."""
    full = os.path.join(root, name)
    if name.endswith(".safetensors"):
        expected, size = _expected_size(full), os.path.getsize(full)
        if expected != size:
            found["broken"][name] = [expected, size]
    if name.endswith(_weights.INDEX):
        parent = name[: len(name) - len(os.path.basename(name))]
        missing = _missing(full, {each[len(parent) :]: None for each in found["files"]})
        if missing:
            found["missing"][name] = missing


def _room(path: str) -> dict[str, Any]:
    """Return whether the host could receive the model; staged: bytes of an interrupted transfer."""
    staging = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.samewire")
    staged = sum(
        os.lstat(os.path.join(parent, name)).st_size
        for parent, _, names in os.walk(staging)
        for name in names
    )
    parent = os.path.dirname(path)
    while not os.path.exists(parent):
        parent = os.path.dirname(parent)
    return {
        "staged": staged,
        "free": shutil.disk_usage(parent).free,
        "writable": os.access(parent, os.W_OK | os.X_OK),
        "rsync": shutil.which("rsync") is not None,
    }


def _read_text(path: str | None) -> str:
    try:
        with open(path or "", encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def _write_text(module: AnsibleModule, path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(text)
    module.atomic_move(f"{path}.new", path)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "whole": {"type": "bool", "default": False},
            "revision": {"type": "str", "default": ""},
            "exclude": {"type": "list", "elements": "str", "default": []},
            "hashes": {"type": "path"},
        },
        supports_check_mode=True,
    )
    given = module.params
    if not given["whole"]:
        path = os.path.abspath(given["path"])
        weights = read(path) if os.path.exists(path) else {"exists": False}
        module.exit_json(changed=False, weights=weights)
    # Where a link leads is where the weights are, and where there must be room.
    path, before = os.path.realpath(given["path"]), _read_text(given["hashes"])
    known = _weights_hashes.Hashes(before)
    weights = {**read_whole(path, given["revision"], given["exclude"], known), **_room(path)}
    if given["hashes"] and known.text() != before and not module.check_mode:
        _write_text(module, given["hashes"], known.text())
    module.exit_json(changed=False, weights=weights)


if __name__ == "__main__":
    main()
