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
attributes:
  check_mode:
    description: Can run in check mode; it never changes anything.
    support: full
options:
  path:
    description: The folder of the model, or its only file.
    type: path
    required: true
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
"""

import hashlib
import os
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import _weights

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


def read(path: str) -> dict[str, Any]:
    """Return what is to be known of the model in a path that exists."""
    found: dict[str, Any] = {
        "exists": True,
        "folder": os.path.isdir(path),
        "reason": None,
        "files": {},
        "missing": {},
        "broken": {},
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


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={"path": {"type": "path", "required": True}},
        supports_check_mode=True,
    )
    path = os.path.abspath(module.params["path"])
    weights = read(path) if os.path.exists(path) else {"exists": False}
    module.exit_json(changed=False, weights=weights)


if __name__ == "__main__":
    main()
