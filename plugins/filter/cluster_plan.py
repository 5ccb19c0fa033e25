# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: the facts of all hosts to the plan of the cluster, or to the reason why there is none."""

from __future__ import annotations

DOCUMENTATION = r"""
name: cluster_plan
short_description: Plan the interconnect of a cluster from the facts of its hosts
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Finds the one network that joins all hosts and that every layer should use, with an address, an
    interface and the RDMA ports for each host, and says why.
  - Where there is no such network, or nothing tells two apart, the result has the key C(error) instead.
  - The result does not depend on the order of hosts or interfaces.
options:
  _input:
    description: Facts by host name, each as P(samewire.vllm.interconnect_info#module) returns them.
    type: dict
    required: true
  cluster:
    description: Name of the cluster.
    type: str
    default: ""
  network:
    description: Network to use, as a CIDR. Each host must have a usable address in it.
    type: str
  interfaces:
    description: Interface to use, by host name; hosts that are not named are decided by their facts.
    type: dict
    default: {}
  overrides:
    description:
      - Variables of the user for the containers, a dict by host name. The plan lists them, and one that would
        put a layer on another wire is the error C(override_refused).
    type: dict
    default: {}
  head:
    description:
      - Host of the Ray head, without which an override of C(RAY_ADDRESS) is not judged, and a single host is
        refused.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Plan the interconnect
  ansible.builtin.set_fact:
    plan: "{{ facts_by_host | samewire.vllm.cluster_plan(cluster='spark-pair') }}"

- name: Plan with a network that the user chose
  ansible.builtin.set_fact:
    plan: "{{ facts_by_host | samewire.vllm.cluster_plan(network='192.168.200.0/24') }}"
"""

RETURN = r"""
_value:
  description: A plan of schema C(samewire.plan/1), or an C(error) with C(code), C(message) and C(hosts).
  type: dict
  sample:
    schema: samewire.plan/1
    cluster: spark-pair
    transport: rdma
    network:
      cidr: 192.168.200.0/24
      family: 4
      mtu: 9000
      chosen_because: [it is the only usable network in which every host has an address]
    hosts:
      spark0:
        address: 192.168.200.12
        prefix: 24
        interface: enp1s0f0np0
        hcas: ["rocep1s0f0:1", "roceP2p1s0f0:1"]
        gid_index: null
        rail_networks: [192.168.200.0/24]
        rejected:
          - interface: enP7s7
            address: 10.1.230.180
            because: 10.1.230.0/24 is the network of the default route
        rejected_hcas: []
        overrides:
          - variable: NCCL_DEBUG
            value: INFO
            instead_of: null
    warnings: []
"""

from collections.abc import Mapping
from typing import Any, Callable

from ansible.errors import AnsibleFilterError

from ansible_collections.samewire.vllm.plugins.module_utils import (
    _interconnect,
    _overrides,
    _plan,
    _topology,
)


def cluster_plan(
    facts: Any,
    cluster: str = "",
    network: str | None = None,
    interfaces: Mapping[str, Any] | None = None,
    overrides: Mapping[str, Any] | None = None,
    head: str = "",
) -> dict[str, Any]:
    """Return the plan, or its error, as plain data."""
    given = (
        ("its input", facts),
        ("interfaces", interfaces or {}),
        ("overrides", overrides or {}),
    )
    for name, value in given:
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise AnsibleFilterError(
                f"cluster_plan needs {name} as a mapping by host name, got {type(value).__name__}"
            )
    hosts = [
        _topology.parse_host(name, each if isinstance(each, Mapping) else {})
        for name, each in facts.items()
    ]
    pins = _interconnect.parse_pins(network, interfaces or {}, alone=bool(head))
    if isinstance(pins, _plan.PlanError):
        return _plan.to_json(pins)
    plan = _plan.to_json(_interconnect.plan(hosts, cluster, pins))
    return _overrides.with_overrides(plan, overrides or {}, head)


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"cluster_plan": cluster_plan}
