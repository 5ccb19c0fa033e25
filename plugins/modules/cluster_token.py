#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: keep one secret of a cluster in a file, making it up where there is none."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_token
short_description: Keep a secret of a cluster in a file that only its owner reads
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Without O(value), keeps the secret that the file holds, or makes one of 256 random bits.
  - With O(value), makes the file hold that value.
  - Use C(no_log) on the task, since the secret is returned.
attributes:
  check_mode:
    description: Says what would change; a secret that would be made up is returned but not kept.
    support: full
options:
  path:
    description: The file. Its directory must exist, except in check mode.
    type: path
    required: true
  value:
    description: The secret.
    type: str
"""

EXAMPLES = r"""
- name: Make sure that the head has a token
  samewire.vllm.cluster_token:
    path: ~/.samewire/spark-pair/secrets/ray_token
  register: token
  no_log: true
"""

RETURN = r"""
token:
  description: The secret.
  returned: always
  type: str
written:
  description: >-
    When the file was written, in nanoseconds; changes exactly when the secret does, and tells nothing of it.
  returned: always
  type: str
"""

import os
import secrets

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import _secret_file


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True, "no_log": False},
            "value": {"type": "str", "no_log": True},
        },
        supports_check_mode=True,
    )
    path, value = os.path.abspath(module.params["path"]), module.params["value"]
    token = value or _secret_file.read(path) or secrets.token_hex(32)
    changed = _secret_file.keep(module, path, token)
    # The value is returned outside no_log handling of parameters: the task's no_log hides it.
    module.no_log_values.discard(token)
    written = "" if changed and module.check_mode else _secret_file.written(path)
    module.exit_json(changed=changed, token=token, written=written)


if __name__ == "__main__":
    main()
