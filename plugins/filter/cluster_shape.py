# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: the desired sizes to where the ranks run, and what is worth knowing of that."""

from __future__ import annotations

DOCUMENTATION = r"""
name: cluster_shape
short_description: Say where the ranks of a model will run
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Places the ranks on the hosts as vLLM does on Ray, and says which of their traffic crosses the wire.
options:
  _input:
    description: The variables of all hosts with defaults, by name of the host.
    type: dict
    required: true
  head:
    description: Name of the host that runs the Ray head.
    type: str
    required: true
  gpus:
    description: GPUs of each host, by name of the host.
    type: dict
    required: true
  facts:
    description: What M(samewire.vllm.interconnect_info) returned, by name of the host.
    type: dict
    required: true
  nodes:
    description: What M(samewire.vllm.node_info) returned as C(node), by name of the host.
    type: dict
    required: true
  model:
    description: The C(model) that P(samewire.vllm.weights_plan#filter) returned.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Say where the ranks will run
  ansible.builtin.debug:
    msg: "{{ (settings | samewire.vllm.cluster_shape('spark0', gpus, facts, nodes)).notes }}"
"""

RETURN = r"""
_value:
  description:
    - C(ranks) in order, with host, replica (data parallel), stage (pipeline parallel) and shard (tensor
      parallel); C(crossing), the kinds of traffic between hosts; C(notes), lines for people.
  type: dict
  sample:
    ranks:
      - {rank: 0, host: spark0, replica: 0, stage: 0, shard: 0}
      - {rank: 1, host: spark1, replica: 0, stage: 0, shard: 1}
    crossing: [tensor]
    notes:
      - "tensor parallel 2 x pipeline parallel 1: rank 0 on spark0, rank 1 on spark1"
      - "over the wire: tensor parallel, 2 all-reduces in every layer"
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import (
    _fit,
    _shape,
    _topology,
)


def cluster_shape(
    settings: Mapping[str, Mapping[str, Any]],
    head: str,
    gpus: Mapping[str, Any],
    facts: Mapping[str, Mapping[str, Any]],
    nodes: Mapping[str, Mapping[str, Any]],
    model: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the placement as plain data; see `_shape` and `_fit.notes`."""
    sizes = _shape.sizes(settings[head])
    counts = {host: int(count) for host, count in gpus.items()}
    figures = _fit.figures(model or {})
    ranks = _shape.place(sizes, counts, head)
    without_rdma = [
        host
        for host, own in facts.items()
        if not any(port.active for port in _topology.parse_host(host, own).rdma or ())
    ]
    judged = _fit.deployment(settings[head], counts, head, nodes, model or {})
    return {
        "ranks": [asdict(rank) for rank in ranks],
        "crossing": _shape.crossing(sizes, ranks, figures),
        "notes": [
            *_shape.explain(sizes, ranks, figures),
            *_shape.warnings(sizes, ranks, counts, without_rdma),
            *(_fit.notes(judged, _fit.object_stores(settings)) if judged else []),
        ],
    }


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"cluster_shape": cluster_shape}
