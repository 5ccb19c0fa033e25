# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: what all hosts saw of the wire to what is wrong with it."""

from __future__ import annotations

DOCUMENTATION = r"""
name: wire_verdict
short_description: Judge what the hosts of a cluster saw of the interconnect
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Names each failing pair of hosts, its direction and the likely cause, such as a firewall, a route, the
    MTU, a link that is down or an address that two machines have; and each host whose clock is more than 2 s
    from that of the others.
options:
  _input:
    description: A plan of schema C(samewire.plan/1).
    type: dict
    required: true
  listeners:
    description: What M(samewire.vllm.wire_proof) returned as C(listener), by name of the host.
    type: dict
    required: true
  probes:
    description: What M(samewire.vllm.wire_proof) returned in C(probes), by name of the host.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Refuse a broken wire
  ansible.builtin.assert:
    that: verdict.problems | length == 0
  vars:
    verdict: "{{ plan | samewire.vllm.wire_verdict(listeners, probes) }}"
"""

RETURN = r"""
_value:
  description:
    - Sentences; C(problems) forbid to go on, C(notes) do not.
    - C(clock_offsets) says, by host and by the other host, how many seconds the other's clock is ahead.
  type: dict
  sample:
    problems:
      - >-
        spark0 to spark1: TCP to 192.168.200.13 port 6379 is not answered, expected a connection (other
        ports are open); most likely a firewall: allow TCP from 192.168.200.0/24 on spark1
    notes: []
    clock_offsets:
      spark0: {spark1: 0.002}
      spark1: {spark0: -0.002}
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _wire, _wire_verdict


def wire_verdict(
    plan: Mapping[str, Any], listeners: Mapping[str, Any], probes: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the verdict as plain data; see `_wire_verdict.judge`."""
    verdict = _wire_verdict.judge(
        plan["network"]["cidr"] or "the addresses of the plan",
        {host: _wire.parse_listener(each) for host, each in listeners.items()},
        {host: _wire.parse_probe(each) for host, each in probes.items()},
    )
    offsets: dict[str, dict[str, float]] = {}
    for (source, target), clock in sorted(verdict.clocks.items()):
        offsets.setdefault(source, {})[target] = round(clock.ahead, 3)
    return {
        "problems": [
            *verdict.problems,
            *(_wire_verdict.idle_links(plan) if verdict.problems else ()),
        ],
        "notes": list(verdict.notes),
        "clock_offsets": offsets,
    }


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"wire_verdict": wire_verdict}
