# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: what was seen of a container, and what it should be, to what must be done."""

from __future__ import annotations

DOCUMENTATION = r"""
name: container_change
short_description: Say what brings a container to its state
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Compares what M(samewire.vllm.node_info) has seen of a container with what it should be made of.
positional: options
options:
  _input:
    description: What was seen of the container; empty where there is none.
    type: dict
    required: true
  options:
    description: The options of M(community.docker.docker_container) that it should be made with.
    type: dict
    required: true
  image:
    description: Id of the image that it should be made of; empty where the host does not have it yet.
    type: str
    required: true
  inputs:
    description: What the container reads once, when it starts; another value makes another container.
    type: raw
"""

EXAMPLES = r"""
- name: Decide whether the container must be made anew
  ansible.builtin.set_fact:
    change: "{{ found | default({}) | samewire.vllm.container_change(options, image=image_id) }}"
"""

RETURN = r"""
_value:
  description:
    - C(action) is C(create) for one that must be made (anew), C(start) for one that only stopped, C(none).
    - C(options) are those given, with a label that tells them by a hash.
  type: dict
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _renewal


def container_change(
    found: Mapping[str, Any], options: Mapping[str, Any], image: str, inputs: object = None
) -> dict[str, Any]:
    """Return it; see `_renewal.change`."""
    return _renewal.change(found, options, image, inputs)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"container_change": container_change}
