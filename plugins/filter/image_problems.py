# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: what the image printed on each host to what is wrong with it."""

from __future__ import annotations

DOCUMENTATION = r"""
name: image_problems
short_description: Judge whether the image holds vLLM, the same on all hosts, and knows the model
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Compares what the image says on each host, its programs and the versions of Ray and vLLM in it.
positional: image
options:
  _input:
    description: The result of running C(versions.py) in a container of the image, by name of the host.
    type: dict
    required: true
  image:
    description: Reference of the image.
    type: str
    required: true
  architectures:
    description: Architectures of the model that the image was asked for.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Refuse an image without vLLM
  ansible.builtin.assert:
    that: problems | length == 0
  vars:
    problems: "{{ asked | samewire.vllm.image_problems('vllm/vllm-openai:v0.17.1') }}"
"""

RETURN = r"""
_value:
  description: One sentence for each problem, none where all is well.
  type: list
  elements: str
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _image


def image_problems(
    asked: Mapping[str, Mapping[str, Any]], image: str, architectures: Sequence[str] = ()
) -> list[str]:
    """Return a sentence for each problem; see `_image.problems`."""
    outputs = {host: _image.output(each) for host, each in asked.items()}
    return _image.problems(image, outputs, architectures)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"image_problems": image_problems}
