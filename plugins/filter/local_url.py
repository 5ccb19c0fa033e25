# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: the address on which a server listens to where it answers on its own host."""

from __future__ import annotations

DOCUMENTATION = r"""
name: local_url
short_description: Give the URL of a server on its own host
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - A server that listens on all addresses is asked on the loopback address of its family.
positional: port
options:
  _input:
    description: Address on which the server listens, C(0.0.0.0) for all.
    type: str
    required: true
  port:
    description: Port on which it listens.
    type: int
    required: true
  tls:
    description: Whether it speaks TLS.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Show where the server answers
  ansible.builtin.debug:
    msg: "{{ '0.0.0.0' | samewire.vllm.local_url(8000) }}"
"""

RETURN = r"""
_value:
  description: The URL, as C(http://127.0.0.1:8000).
  type: str
"""

from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _server_state


def local_url(host: str, port: int, tls: bool = False) -> str:
    """Return the URL; see `_server_state.local_url`."""
    return _server_state.local_url(str(host), int(port), tls=tls)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"local_url": local_url}
