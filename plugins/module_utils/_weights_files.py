# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Reads which files a model has on this host, and whether it could receive the model; changes nothing."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _model, _weights, _weights_hashes

_WHOLE = 16 << 20
_SAMPLE = 1 << 20


def look(given: Mapping[str, Any], *, whole: bool = False) -> tuple[dict[str, Any], str | None]:
    """Return what there is of a model, and whether it would find room.

    given: path, revision, exclude and hashes, as weights_info takes them. The second value is what the file
    of hashes should hold from now on, None where it does.
    """
    # Where a link leads is where the weights are, and where there must be room.
    path, before = os.path.realpath(given["path"]), _read_text(given["hashes"])
    known = _weights_hashes.Hashes(before)
    found = read(path, given["revision"], given["exclude"], known, whole=whole)
    after = known.text()
    return {**found, **_room(path)}, after if given["hashes"] and after != before else None


def _sample(path: str, size: int) -> str:
    """Return the hash of the start, the middle and the end of a large file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for start in (0, (size - _SAMPLE) // 2 // _SAMPLE * _SAMPLE, size - _SAMPLE):
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


def _walk(folder: str, exclude: list[str]) -> Iterator[str]:
    """Yield the names of a model's files, relative to its folder, in order."""

    def refuse(error: OSError) -> None:
        raise error

    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            relative = os.path.relpath(os.path.join(parent, name), folder)
            hidden = name.startswith(".")
            if not hidden and not any(fnmatch(relative, pattern) for pattern in exclude):
                yield relative


def _snapshot(path: str, revision: str) -> tuple[str, list[str]]:
    """Return the snapshot of a revision in the hub's cache as a name that ends in a slash, and its ref.

    The name is empty where there is none.
    """
    ref = f"refs/{revision}"
    commit, refs = revision, []
    if os.path.isfile(os.path.join(path, ref)):
        refs = [ref]
        with open(os.path.join(path, ref), encoding="utf-8") as file:
            commit = file.read().strip()
    base = f"snapshots/{commit}/"
    return (base, refs) if os.path.isdir(os.path.join(path, base)) else ("", [])


def read(
    path: str, revision: str, exclude: list[str], known: _weights_hashes.Hashes, *, whole: bool
) -> dict[str, Any]:
    """Return what is to be known of the model in a path, or that there is none."""
    base = ""
    names: list[str] = []
    if revision:
        base, names = _snapshot(path, revision)
        if not base:
            return {"exists": False}
    elif not os.path.exists(path):
        return {"exists": False}
    found: dict[str, Any] = {
        "exists": True,
        "folder": os.path.isdir(path),
        "reason": None,
        "base": base,
        "config": None,
        **{kind: {} for kind in ("files", "missing", "broken", "corrupt", "outside")},
    }
    try:
        if not found["folder"]:
            path, names = os.path.dirname(path), [os.path.basename(path)]
        else:
            names += [base + name for name in _walk(os.path.normpath(f"{path}/{base}"), exclude)]
        _fill(path, names, found, known, whole=whole)
    except OSError as error:
        found["reason"] = str(error)
    return found


def _fill(
    root: str,
    names: list[str],
    found: dict[str, Any],
    known: _weights_hashes.Hashes,
    *,
    whole: bool,
) -> None:
    targets = []
    for name in names:
        full = os.path.join(root, name)
        if not os.path.islink(full):
            targets.append(name)
            continue
        target = os.readlink(full)
        inside = os.path.relpath(os.path.join(os.path.dirname(full), target), root)
        # A link that leads nowhere is a file that is missing.
        if not os.path.isfile(full):
            continue
        if os.path.isabs(target) or inside.startswith(".."):
            found["outside"][name] = target
            targets.append(name)
            continue
        link = f"-> {target}"
        found["files"][name] = {"size": 0, "hash": link, "full": link}
        targets.append(inside)
    for name, entry in zip(targets, _entries(root, targets, known, whole=whole)):
        found["files"][name] = entry
        # The hub names a large file after its SHA-256; source: the layout of its cache.
        blob = os.path.basename(name) if name.startswith("blobs/") and found["base"] else ""
        if len(blob) == 64 and entry["full"] not in (None, blob):
            found["corrupt"][name] = [blob, entry["full"]]
    for name in list(found["files"]):
        _judge(root, name, found)
    config = os.path.join(root, f"{found['base']}config.json")
    if os.path.isfile(config) and found["folder"]:
        found["config"] = _config(config)


def _entries(
    root: str, names: list[str], known: _weights_hashes.Hashes, *, whole: bool
) -> Iterator[dict[str, Any]]:
    def entry(name: str) -> dict[str, Any]:
        path = os.path.join(root, name)
        stat = os.stat(path)
        full = known.get(path, stat)
        if full is None and (whole or stat.st_size <= _WHOLE):
            with open(path, "rb") as file:
                full = _weights_hashes.sha256(file)
            known.keep(path, stat, full)
        digest = full if whole or stat.st_size <= _WHOLE else _sample(path, stat.st_size)
        return {"size": stat.st_size, "hash": digest, "full": full}

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
    """Return whether the host could receive the model; staged: what an interruption has left, in bytes."""
    staging = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.samewire")
    parent = os.path.dirname(path)
    while not os.path.exists(parent):
        parent = os.path.dirname(parent)
    written = [parent, *([path] if os.path.isdir(path) else [])]
    return {
        "staged": _bytes(staging) + _bytes(os.path.join(path, "blobs")),
        "free": shutil.disk_usage(parent).free,
        "writable": all(os.access(each, os.W_OK | os.X_OK) for each in written),
        "rsync": shutil.which("rsync") is not None,
        "account": f"{os.geteuid()}:{os.getegid()}",
        "mount": _weights.network_mount(_read_text("/proc/self/mountinfo"), path),
    }


def _bytes(folder: str) -> int:
    return sum(
        os.lstat(os.path.join(parent, name)).st_size
        for parent, _unused, names in os.walk(folder)
        for name in names
    )


def _read_text(path: str | None) -> str:
    try:
        with open(path or "", encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""
