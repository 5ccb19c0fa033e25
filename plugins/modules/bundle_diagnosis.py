#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: diagnose a folder of collected logs, and pack it; runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: bundle_diagnosis
short_description: Diagnose collected logs and pack them
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Diagnoses the logs in a folder, one folder in it for each host, writes C(diagnosis.json) and
    C(report.json) beside them, and packs all of it into a C(.tar.gz) of the same name.
attributes:
  check_mode:
    description: Diagnoses in check mode too; it writes into the folder only.
    support: full
options:
  path:
    description: The folder.
    type: path
    required: true
  failures:
    description: What failed, each with C(host), C(task) and C(message).
    type: list
    elements: dict
    default: []
  tails:
    description: Last lines of logs, by name of the file, shown where no cause is known.
    type: dict
    default: {}
  ignored:
    description: Patterns of names of logs that are packed, but tell of something else than what failed.
    type: list
    elements: str
    default: []
  documents:
    description: What else belongs there, by name of the file, written as JSON.
    type: dict
    default: {}
  keep:
    description:
      - How many bundles stay beside the new one, the newest of those whose names are times as
        C(20260101T000000Z); 0 keeps all.
    type: int
    default: 0
"""

EXAMPLES = r"""
- name: Diagnose
  samewire.vllm.bundle_diagnosis:
    path: ~/bundle
  delegate_to: localhost
"""

RETURN = r"""
diagnosis:
  description: The findings, as C(samewire diagnose --json) prints them.
  returned: always
  type: dict
bundle:
  description: The folder.
  returned: always
  type: str
report:
  description: The result for people, the cause first.
  returned: always
  type: list
  elements: str
"""

import fnmatch
import json
import os
import re
import shutil
import tarfile
from collections.abc import Iterator
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import _bundle, _diagnosis

_PIECE = 1 << 20
_BUNDLE = re.compile(r"^(?P<time>\d{8}T\d{6}Z)(?:\.tar\.gz)?$")


def _logs(folder: str, ignored: list[str]) -> Iterator[str]:
    """Yield the logs by their path in the folder, those of containers first."""
    found = [
        os.path.relpath(os.path.join(where, name), folder)
        for where, _unused, names in os.walk(folder)
        for name in names
        if os.path.splitext(name)[1] != ".json"
        and not any(fnmatch.fnmatch(name, pattern) for pattern in ignored)
    ]
    yield from sorted(found, key=lambda name: (name.count(os.sep), name))


def _pieces(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n")


def diagnose(
    folder: str,
    failures: list[dict[str, str]],
    tails: dict[str, list[str]],
    ignored: list[str],
    documents: dict[str, Any],
) -> dict[str, Any]:
    """Return the diagnosis and its report, and leave both in the folder."""
    for failure in failures:
        # What Docker refuses stands in no log.
        _write(os.path.join(folder, failure["host"], "failure.txt"), failure["message"])
    diagnosis = _diagnosis.Diagnosis()
    for name in _logs(folder, ignored):
        diagnosis.read(name, _pieces(os.path.join(folder, name)))
    result = _diagnosis.to_json(diagnosis.findings())
    report = _bundle.report(result["findings"], failures, folder, tails)
    written = {**documents, "diagnosis.json": result, "report.json": report}
    for name, content in written.items():
        _write(os.path.join(folder, name), json.dumps(content, indent=2))
    packed = os.open(f"{folder}.tar.gz", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(packed, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as bundle:
        bundle.add(folder, arcname=os.path.basename(folder))
    return {"diagnosis": result, "report": report, "bundle": folder}


def prune(folder: str, keep: int) -> None:
    """Remove the bundles beside this one, but so many of the newest."""
    beside = os.path.dirname(folder)
    found: dict[str, list[str]] = {}
    for name in os.listdir(beside):
        if matched := _BUNDLE.match(name):
            found.setdefault(matched["time"], []).append(os.path.join(beside, name))
    found.pop(os.path.basename(folder), None)
    for moment in sorted(found, reverse=True)[keep:]:
        for path in found[moment]:
            if os.path.isdir(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "failures": {"type": "list", "elements": "dict", "default": []},
            "tails": {"type": "dict", "default": {}},
            "ignored": {"type": "list", "elements": "str", "default": []},
            "documents": {"type": "dict", "default": {}},
            "keep": {"type": "int", "default": 0},
        },
        supports_check_mode=True,
    )
    folder = os.path.abspath(module.params["path"])
    try:
        result = diagnose(
            folder,
            module.params["failures"],
            module.params["tails"],
            module.params["ignored"],
            module.params["documents"],
        )
        if module.params["keep"]:
            prune(folder, module.params["keep"])
    except OSError as error:
        module.fail_json(msg=f"{folder}: cannot be diagnosed: {error}")
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
