#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: the directories and files of a cluster on a host, in one call."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_files
short_description: Make the directories of a cluster on a host, and write its files
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Does in one call what takes a loop of M(ansible.builtin.file) and one of M(ansible.builtin.copy), which
    cost a second each on every host.
  - Directories and files that are not named are left alone.
attributes:
  check_mode:
    description: Says what would change.
    support: full
  diff_mode:
    description: Shows the contents of files that change.
    support: full
options:
  path:
    description: Directory in which the others are; it is made with mode 0700.
    type: path
    required: true
  directories:
    description: Modes of directories, as C("0755"), by name.
    type: dict
    default: {}
  files:
    description: Contents of files, by name; they and their own directories may be read by everybody.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Make the directories and files
  samewire.vllm.node_files:
    path: ~/.samewire/spark-pair
    directories: {secrets: "0700", ray: "0777"}
    files: {node/run.sh: "{{ lookup('ansible.builtin.file', 'run.sh', rstrip=false) }}"}
"""

RETURN = r"""
written:
  description: Names of what was made or changed.
  returned: always
  type: list
  elements: str
"""

import os
import stat
from typing import Any

from ansible.module_utils.basic import AnsibleModule

_OWN = 0o700
_OPEN = 0o755
_FILE = 0o644


def _mode(path: str) -> int | None:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        return None


def _content(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _keep_directory(path: str, mode: int, check: bool) -> bool:
    """Make a directory with a mode; return whether that changes, or would change, anything."""
    changed = _mode(path) != mode
    if changed and not check:
        os.makedirs(path, exist_ok=True)
        # The umask does not hold for what is said here.
        os.chmod(path, mode)
    return changed


def _write(module: AnsibleModule, path: str, content: str) -> None:
    temporary = f"{path}.new"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(content)
    os.chmod(temporary, _FILE)
    module.atomic_move(temporary, path)


SPEC: dict[str, Any] = {
    "argument_spec": {
        "path": {"type": "path", "required": True},
        "directories": {"type": "dict", "default": {}},
        "files": {"type": "dict", "default": {}},
    },
    "supports_check_mode": True,
}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(**SPEC)
    base, files = os.path.abspath(module.params["path"]), module.params["files"]
    modes = {"": _OWN}
    modes.update((os.path.dirname(name), _OPEN) for name in files)
    modes.update((name, int(mode, 8)) for name, mode in module.params["directories"].items())
    written, diffs = [], []
    try:
        for name, mode in sorted(modes.items()):
            if _keep_directory(os.path.join(base, name), mode, module.check_mode):
                written.append(name or base)
        for name, content in sorted(files.items()):
            path = os.path.join(base, name)
            before = _content(path)
            if before != content or _mode(path) != _FILE:
                written.append(name)
                diffs.append({"header": path, "before": before or "", "after": content})
                if not module.check_mode:
                    _write(module, path, content)
    except OSError as error:
        module.fail_json(msg=f"{base}: its files cannot be written: {error}")
    module.exit_json(changed=bool(written), written=written, diff=diffs)


if __name__ == "__main__":
    main()
