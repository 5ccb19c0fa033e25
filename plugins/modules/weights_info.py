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
  - Reads names, sizes and hashes of all files that make up a model, also in folders below; hidden ones are
    left out. Of a file over 16 MiB only samples from its start, middle and end are hashed, so that a large
    model takes seconds; with O(whole) it is hashed in full.
  - Compares the shards with the index, and the size of each safetensors file with its own header.
  - Keeps of C(config.json) what says how large the model is.
  - Says whether the host could receive the model, and whether it lies on a network file system.
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
    description: Whether to hash whole files.
    type: bool
    default: false
  revision:
    description: >-
      Branch, tag or commit, where O(path) is the folder of a repository in the hub's cache; its snapshot,
      blobs and ref are read.
    type: str
    default: ""
  exclude:
    description: Patterns of names, relative to the model, that are left out.
    type: list
    elements: str
    default: []
  hashes:
    description: >-
      File that keeps hashes of whole files, so that they are computed once. It is written with O(whole), and
      not in check mode.
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
    files: {config.json: {size: 812, hash: 5f2c…, full: 5f2c…}}
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
    account: "0:0"
    mount: null
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import _weights_files


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
    weights, hashes = _weights_files.look(given, whole=given["whole"])
    if hashes is not None and given["whole"] and not module.check_mode:
        _write_text(module, given["hashes"], hashes)
    module.exit_json(changed=False, weights=weights)


if __name__ == "__main__":
    main()
