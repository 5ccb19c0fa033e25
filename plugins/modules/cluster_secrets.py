#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: keep the secrets of a cluster in files, making up those that there are not."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_secrets
short_description: Keep the secrets of a cluster in files that only their owner reads
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Keeps each secret in a file of its own, in one call.
  - Use C(no_log) on the task, since the secrets are returned.
attributes:
  check_mode:
    description: Says what would change; a secret that would be made up is returned but not kept.
    support: full
options:
  directory:
    description: Where the files are. It must exist, except in check mode.
    type: path
    required: true
  secrets:
    description:
      - The secrets, by name of the file.
      - An empty one is what the file holds already, or is made up of 256 random bits.
      - One that is null is what the file holds already, and is not made up.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Make sure that the head has a token
  samewire.vllm.cluster_secrets:
    directory: ~/.samewire/spark-pair/secrets
    secrets: {ray_token: ""}
  register: kept
  no_log: true
"""

RETURN = r"""
secrets:
  description: >-
    C(value) of each secret, by name of the file, and when the file was C(written), in nanoseconds; that
    changes exactly when the secret does, and tells nothing of it. Both are empty where there is no secret.
  returned: always
  type: dict
"""

import os
import secrets
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import _secret_file


def _keep(module: AnsibleModule, path: str, wanted: str | None) -> tuple[bool, dict[str, Any]]:
    """Return whether the file of one secret changes, and what is returned of it."""
    found = _secret_file.read(path)
    secret = wanted or found or ("" if wanted is None else secrets.token_hex(32))
    if not secret:
        return False, {"value": "", "written": ""}
    changed = _secret_file.keep(module, path, secret)
    written = "" if changed and module.check_mode else _secret_file.written(path)
    return changed, {"value": secret, "written": written}


SPEC: dict[str, Any] = {
    "argument_spec": {
        "directory": {"type": "path", "required": True},
        "secrets": {"type": "dict", "required": True, "no_log": True},
    },
    "supports_check_mode": True,
}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(**SPEC)
    directory = os.path.abspath(module.params["directory"])
    kept = {
        name: _keep(module, os.path.join(directory, name), wanted)
        for name, wanted in sorted(module.params["secrets"].items())
    }
    found = {name: of for name, (_changed, of) in kept.items()}
    # The values are returned outside no_log handling of parameters: the task's no_log hides them.
    module.no_log_values.clear()
    module.exit_json(changed=any(changed for changed, _of in kept.values()), secrets=found)


if __name__ == "__main__":
    main()
