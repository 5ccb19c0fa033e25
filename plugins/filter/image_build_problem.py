# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: a failed build to a sentence."""

from __future__ import annotations

DOCUMENTATION = r"""
name: image_build_problem
short_description: Say why Ray cannot be added to an image
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Finds the reason in what the build printed.
positional: host
options:
  _input:
    description: What M(community.docker.docker_image) returned where it failed.
    type: dict
    required: true
  host:
    description: Name of the host that builds.
    type: str
    required: true
  base:
    description: Reference of the image without Ray.
    type: str
    required: true
  ray:
    description: What was to be added.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Refuse an image to which Ray cannot be added
  ansible.builtin.fail:
    msg: "{{ built | samewire.vllm.image_build_problem('spark0', base='vllm:1', ray='ray==2.60.0') }}"
  when: built is failed
"""

RETURN = r"""
_value:
  description: One sentence with a cure.
  type: str
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _image


def image_build_problem(built: Mapping[str, Any], host: str, base: str, ray: str) -> str:
    """Return the sentence; see `_image.build_problem`."""
    return _image.build_problem(host, base, ray, str(built.get("msg", "")))


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"image_build_problem": image_build_problem}
