#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Documentation of the action of the same name, which needs no module."""

from __future__ import annotations

DOCUMENTATION = r"""
module: controller_files
short_description: Keep files and secrets of a cluster in a folder on the controller
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Makes the folder with mode 0700, and writes what differs; no file is ever half written. Files that are
    not named are left alone.
  - Runs in the process of Ansible itself, whatever host the task is for.
attributes:
  check_mode:
    description: Says what would change.
    support: full
  diff_mode:
    description: Shows the contents of files that change, but of no secrets.
    support: full
options:
  path:
    description: The folder; one that is not absolute is beside the playbook.
    type: str
    required: true
  files:
    description: >-
      Contents of files, by name; they may be read by everybody. One whose content is empty is removed.
    type: dict
    default: {}
  secrets:
    description: >-
      Contents of files that only their owner reads, by name. One whose content is empty is removed.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Keep the key of the API, and no certificate
  samewire.vllm.controller_files:
    path: ~/.samewire/clusters/spark-pair
    files: {api.crt: ""}
    secrets: {api_key: "{{ key }}"}
"""

RETURN = r"""
written:
  description: Names of what was made or changed.
  returned: success
  type: list
  elements: str
removed:
  description: Names of what was removed.
  returned: success
  type: list
  elements: str
"""
