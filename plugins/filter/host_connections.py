# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: how the hosts of a cluster are reached."""

from __future__ import annotations

DOCUMENTATION = r"""
name: host_connections
short_description: Give what a later run needs to reach the hosts of a cluster
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Keeps how Ansible reaches each host, so that a host that leaves the inventory can still be asked to
    leave.
positional: directories
options:
  _input:
    description: Variables of all hosts, as C(hostvars).
    type: dict
    required: true
  directories:
    description: The directory that holds the files of all clusters, by name of the host.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show it
  ansible.builtin.debug:
    msg: "{{ hostvars | samewire.vllm.host_connections({'spark0': '~/.samewire'}) }}"
"""

RETURN = r"""
_value:
  description: The variables of the connection by name of the host, without passwords.
  type: dict
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _last_deployment


def host_connections(
    variables: Mapping[str, Any], directories: Mapping[str, str]
) -> dict[str, Any]:
    """Return it; see `_last_deployment.connections`."""
    return _last_deployment.connections(variables, directories)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"host_connections": host_connections}
