# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: what was asked of an image to the versions that it holds."""

from __future__ import annotations

DOCUMENTATION = r"""
name: image_versions
short_description: Read which versions an image holds
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Reads what versions.py printed in a container of the image.
options:
  _input:
    description: The result of running C(versions.py) in a container of the image.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the versions
  ansible.builtin.debug:
    msg: "{{ asked | samewire.vllm.image_versions }}"
"""

RETURN = r"""
_value:
  description:
    - Version by name of the program, null for one that is absent; empty where the image was not asked.
  type: dict
  sample: {python: 3.12.3, ray: null, vllm: 0.32.0}
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _image


def image_versions(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return version by name; see `_image.versions`."""
    return _image.versions(_image.output(asked)) or {}


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"image_versions": image_versions}
