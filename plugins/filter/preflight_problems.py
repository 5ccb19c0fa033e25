# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: what the hosts have to what stands against the deployment."""

from __future__ import annotations

DOCUMENTATION = r"""
name: preflight_problems
short_description: Judge whether the hosts can become the desired cluster
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Compares what M(samewire.vllm.node_info) found on each host with what the deployment needs.
  - Where the sizes of the model and of the GPUs' memory are known, judges whether the one fits the other.
options:
  _input:
    description: What M(samewire.vllm.node_info) returned as C(node), by name of the host.
    type: dict
    required: true
  head:
    description: Name of the host that runs the Ray head.
    type: str
    required: true
  image:
    description: Reference of the image.
    type: str
    required: true
  model:
    description: Model, a hub id or a path on the hosts.
    type: str
    required: true
  settings:
    description: The variables of the head, with defaults; of them the sizes and arguments of vLLM are read.
    type: dict
    required: true
  gpus:
    description: GPUs of each host, by name of the host.
    type: dict
    required: true
  ports:
    description: What P(samewire.vllm.node_ports#filter) returned.
    type: dict
    required: true
  weights:
    description: What M(samewire.vllm.weights_info) returned as C(weights), by name of the host.
    type: dict
    default: {}
  transfer:
    description: What P(samewire.vllm.weights_plan#filter) returned.
    type: dict
    default: {}
  hardware:
    description: The C(hosts) that P(samewire.vllm.hardware_presets#filter) returned.
    type: dict
    default: {}
  skip:
    description: Names of gates that judge nothing, for tests.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Refuse what cannot work
  ansible.builtin.assert:
    that: problems | length == 0
  vars:
    problems: >-
      {{ nodes | samewire.vllm.preflight_problems(head='spark0', image='vllm/vllm-openai:v0.17.1',
         model='/models/qwen', settings=settings['spark0'], gpus={'spark0': 1, 'spark1': 1},
         ports=settings | samewire.vllm.node_ports('spark0')) }}
"""

RETURN = r"""
_value:
  description: One sentence for each problem, none where all is well.
  type: list
  elements: str
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import (
    _fit,
    _preflight,
    _shape,
    _weights,
)


def preflight_problems(
    nodes: Mapping[str, Mapping[str, Any]],
    head: str,
    image: str,
    model: str,
    settings: Mapping[str, Any],
    gpus: Mapping[str, int],
    ports: Mapping[str, Mapping[Any, Sequence[str]]],
    weights: Mapping[str, Mapping[str, Any]] | None = None,
    transfer: Mapping[str, Any] | None = None,
    hardware: Mapping[str, Mapping[str, Any]] | None = None,
    skip: Sequence[str] = (),
) -> list[str]:
    """Return a sentence for each problem; see the functions `problems` of the utilities."""
    own = (transfer or {}).get("model") or {}
    base = str(settings["container_image_base"])
    desire = _preflight.Desire(
        head=head,
        image=base or image,
        model=model,
        sizes=_shape.sizes(settings),
        gpus={host: int(count) for host, count in gpus.items()},
        figures=_fit.figures(own),
        # Numbers become text where they are keys of a variable.
        ports={
            host: {int(port): (purpose, variable) for port, (purpose, variable) in own.items()}
            for host, own in ports.items()
        },
        shm={host: int(each["shm"]) for host, each in (hardware or {}).items()},
        skip=frozenset(skip),
        # What the head makes of another image it sends to all others.
        distribution="head" if base else str(settings["container_image_distribution"]),
        image_variable="container_image_base" if base else "container_image_name",
    )
    found = _preflight.problems(nodes, desire)
    if "weights" in desire.skip:
        pass
    elif settings["model_weights_sync"]:
        found += (transfer or {}).get("problems") or []
    else:
        # A path that does not exist has its sentence already; a model of the hub is vLLM's own affair.
        present = {host: each for host, each in (weights or {}).items() if each["exists"]}
        found += _weights.problems(model, present, head) if model.startswith("/") else []
    judged = _fit.deployment(settings, desire.gpus, head, nodes, own)
    # A size that cannot be has its sentence already.
    if judged and not found and "fit" not in desire.skip:
        found = _fit.capability_problems(model, judged.model.quantisation, judged.gpus)
        found += _fit.problems(judged)
    return found


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"preflight_problems": preflight_problems}
