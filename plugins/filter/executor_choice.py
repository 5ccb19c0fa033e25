# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: what the user wants and the image holds to what spreads vLLM over the hosts."""

from __future__ import annotations

DOCUMENTATION = r"""
name: executor_choice
short_description: Choose what spreads vLLM over the hosts
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Takes Ray where the image has it, unless the head's C(vllm_server_executor) says otherwise, and says what
    stands against it.
options:
  _input:
    description: The settings of P(samewire.vllm.desired_state#filter), by name of the host.
    type: dict
    required: true
  head:
    description: Name of the head.
    type: str
    required: true
  gpus:
    description: GPUs of each host, by name of the host.
    type: dict
    required: true
  versions:
    description: What the image holds, by name of the program; empty where it was not asked.
    type: dict
    required: true
  before:
    description: What the last deployment took, empty where there was none.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Show the choice
  ansible.builtin.debug:
    msg: "{{ settings | samewire.vllm.executor_choice('spark0', gpus=gpus, versions={'ray': none}) }}"
"""

RETURN = r"""
_value:
  description:
    - C(executor), C(ray) or C(mp); C(note), why, empty where the user has said it; C(problems), sentences.
  type: dict
  sample: {executor: mp, note: "vLLM runs without Ray (executor mp), since image vllm has none", problems: []}
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _parts, _shape


def executor_choice(
    settings: Mapping[str, Mapping[str, Any]],
    head: str,
    gpus: Mapping[str, Any],
    versions: Mapping[str, Any],
    before: str = "",
) -> dict[str, Any]:
    """Return executor, note and problems; see `_parts`."""
    own = settings[head]
    wanted, image = str(own["vllm_server_executor"]), str(own["container_image_name"])
    executor = _parts.chosen(wanted, versions.get("ray"), known=bool(versions), before=before)
    sizes = _shape.sizes({**own, "vllm_server_executor": executor})
    counts = {host: int(count) for host, count in gpus.items()}
    problems = _shape.problems(sizes, counts, head)
    problems += _shape.build_problems(sizes, counts, head, str(versions.get("vllm") or ""))
    if executor == _parts.RAY and versions and not versions.get("ray"):
        problems.append(_parts.lacks_ray(image))
    return {
        "executor": executor,
        "note": _parts.note(wanted, executor, image) if versions else "",
        "problems": problems,
    }


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"executor_choice": executor_choice}
