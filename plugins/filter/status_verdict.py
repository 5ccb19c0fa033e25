# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: what was seen of a cluster on its hosts to its state."""

from __future__ import annotations

DOCUMENTATION = r"""
name: status_verdict
short_description: Hold what was seen of a cluster against what was planned and proven
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Gives one word for the whole cluster, and a sentence for each difference.
options:
  _input:
    description: What M(samewire.vllm.cluster_status) gave, by name of the host; also where it failed.
    type: dict
    required: true
  cluster:
    description: Name of the cluster.
    type: str
    required: true
  head:
    description: Name of the host that runs the Ray head.
    type: str
    required: true
  plan:
    description: The plan of schema C(samewire.plan/1); empty where there is none.
    type: dict
    required: true
  record:
    description: The record of schema C(samewire.record/1); empty where there is none.
    type: dict
    required: true
  start_timeout:
    description: Seconds that a start may take.
    type: float
    required: true
  observed_at:
    description: When it was seen, ISO 8601, UTC.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show the state of the cluster
  ansible.builtin.debug:
    msg: "{{ found.report }}"
  vars:
    found: >-
      {{ seen | samewire.vllm.status_verdict(cluster='spark-pair', head='spark0', plan=plan, record=record,
         start_timeout=1800, observed_at=now(utc=true, fmt='%Y-%m-%dT%H:%M:%SZ')) }}
"""

RETURN = r"""
_value:
  description: The state.
  type: dict
  contains:
    status:
      description: The state, schema C(samewire.status/1).
      type: dict
    report:
      description: The same for people, a line each.
      type: list
      elements: str
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _status


def status_verdict(
    seen: Mapping[str, Mapping[str, Any]],
    cluster: str,
    head: str,
    plan: Mapping[str, Any],
    record: Mapping[str, Any],
    start_timeout: float,
    observed_at: str,
) -> dict[str, Any]:
    """Return the state; see `_status.status`."""
    known = _status.Cluster(
        name=cluster,
        head=head,
        hosts={host: _status.observation(result) for host, result in seen.items()},
        plan=plan,
        record=record,
        start_timeout=float(start_timeout),
    )
    status = _status.status(known, observed_at)
    return {"status": status, "report": _status.report(status)}


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"status_verdict": status_verdict}
