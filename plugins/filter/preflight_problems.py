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
  tensor_parallel_size:
    description: GPUs that share each layer.
    type: int
    required: true
  pipeline_parallel_size:
    description: Groups of GPUs that share the layers.
    type: int
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
         model='/models/qwen', tensor_parallel_size=2, pipeline_parallel_size=1,
         gpus={'spark0': 1, 'spark1': 1}, ports=settings | samewire.vllm.node_ports('spark0')) }}
"""

RETURN = r"""
_value:
  description: One sentence for each problem, none where all is well.
  type: list
  elements: str
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _preflight, _weights


def preflight_problems(
    nodes: Mapping[str, Mapping[str, Any]],
    head: str,
    image: str,
    model: str,
    tensor_parallel_size: int,
    pipeline_parallel_size: int,
    gpus: Mapping[str, int],
    ports: Mapping[str, Mapping[Any, Sequence[str]]],
    weights: Mapping[str, Mapping[str, Any]] | None = None,
    skip: Sequence[str] = (),
) -> list[str]:
    """Return a sentence for each problem; see `_preflight.problems` and `_weights.problems`."""
    desire = _preflight.Desire(
        head=head,
        image=image,
        model=model,
        tensor_parallel_size=int(tensor_parallel_size),
        pipeline_parallel_size=int(pipeline_parallel_size),
        gpus={host: int(count) for host, count in gpus.items()},
        # Numbers become text where they are keys of a variable.
        ports={
            host: {int(port): (purpose, variable) for port, (purpose, variable) in own.items()}
            for host, own in ports.items()
        },
        skip=frozenset(skip),
    )
    found = _preflight.problems(nodes, desire)
    if "weights" not in desire.skip:
        # A path that does not exist has its sentence already.
        present = {host: own for host, own in (weights or {}).items() if own["exists"]}
        found += _weights.problems(model, present, head)
    return found


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"preflight_problems": preflight_problems}
