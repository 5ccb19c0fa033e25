# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The planner on hosts that people described in public; tests/corpus/topologies has the cases.

A case whose hosts all carry addresses runs as it is. One that shows a single host gets a second
one like it, and one that shows no address at all gets one network per interface.
"""

from __future__ import annotations

import copy
import ipaddress
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.samewire.vllm.plugins.module_utils import _interconnect, _topology

CASES = sorted(Path(__file__).parents[3].joinpath("corpus", "topologies").glob("*.yml"))

# What these cases are about cannot be told from their facts, even with stand-ins.
UNDECIDED = {
    "18-gcp-a3-jax-autoconfig": "the data interfaces' addresses are not shown",
    "28-spark-gid4-head-gid3-worker": "the addresses in the GID table are not shown",
    "36-bond-with-vlan-children-prefix": "the networks of the VLANs are not shown",
    "43-mi300x-eight-rails-eight-subnets": "it expects a warning of the data path, not a plan",
    "55-eks-hostnetwork-ens5-many-nics": "the addresses of the EFA interface are not shown",
    "58-lan-plus-ipoib-ibs3": "whether the IPoIB interface has an address is not shown",
    "67-ipv6-node-ipv4-get-ip": "hosts that both have IPv4 and IPv6 get a plan with IPv4",
    "71-spark-two-fast-ports-misread-as-800g": "which ports are cabled is not shown",
    "74-spark-gid-index-5": "the addresses in the GID table are not shown",
    "77-spark-one-nic-per-subnet-rule": "the addresses are not shown",
}


def _facts(path: Path) -> dict[str, Any]:
    case: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return case


def _shows_addresses(host: dict[str, Any]) -> bool:
    return any(
        "/" in str(a) for i in host.get("interfaces") or [] for a in i.get("addresses") or []
    )


def _completed(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The hosts of a case, with stand-ins for what a plan needs and the source leaves out."""
    hosts: list[dict[str, Any]] = copy.deepcopy(case["hosts"])
    if len(hosts) == 1 and case["expected"].get("error_class") != "single_host":
        hosts.append(_peer(hosts[0]))
    if not any(map(_shows_addresses, hosts)):
        for number, host in enumerate(hosts, start=1):
            _address(host, number)
    return hosts


def _peer(host: dict[str, Any]) -> dict[str, Any]:
    """A host like the given one, with the next address in each network."""
    peer = copy.deepcopy(host)
    peer["name"] = "peer"
    for interface in peer.get("interfaces") or []:
        if interface.get("addresses"):
            interface["addresses"] = [_next(address) for address in interface["addresses"]]
    for port in peer.get("rdma") or []:
        port.pop("gids", None)
    return peer


def _next(address: str) -> str:
    own = ipaddress.ip_interface(address)
    return address if own.ip.is_loopback else f"{own.ip + 1}/{own.network.prefixlen}"


def _address(host: dict[str, Any], number: int) -> None:
    interfaces = host.setdefault("interfaces", [{"name": "eth0", "state": "up"}])
    for index, interface in enumerate(interfaces):
        if "addresses" not in interface and not interface.get("master"):
            interface["addresses"] = [f"10.0.{index}.{number}/24"]


def _plan(hosts: list[dict[str, Any]]) -> dict[str, Any]:
    return _interconnect.to_json(_interconnect.plan(_topology.parse_cluster({"hosts": hosts})))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case_is_planned_as_its_source_says(path: Path) -> None:
    case = _facts(path)
    if path.stem in UNDECIDED:
        pytest.skip(UNDECIDED[path.stem])
    expected = case["expected"]
    hosts = _completed(case)
    plan = _plan(hosts)

    if "error" in expected:
        assert plan["error"]["code"] == expected["error_class"]
        return
    assert "error" not in plan
    assumed = " ".join(map(str, case["assumed"]))
    for host in case["hosts"]:
        wanted, got = expected.get(host["name"]), plan["hosts"][host["name"]]
        if wanted is None:
            continue
        if "interfaces" in wanted:
            assert got["interface"] in wanted["interfaces"]
        if "address" in wanted:
            assert got["address"] == wanted["address"]
        known = {port["device"] for port in host.get("rdma") or []}
        if "hcas" in wanted and "hca" not in assumed and set(wanted["hcas"]) <= known:
            assert {hca.partition(":")[0] for hca in got["hcas"]} == set(wanted["hcas"])
        if any(port.get("gids") for port in host.get("rdma") or []) and "gid_index" in wanted:
            assert got["gid_index"] == wanted["gid_index"]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_incomplete_facts_end_in_a_plan_or_a_named_refusal(path: Path) -> None:
    result = _plan(_facts(path)["hosts"])

    assert ("hosts" in result) != (result.get("error", {}).get("message", "") != "")


def test_every_undecided_case_exists() -> None:
    assert set(UNDECIDED) <= {path.stem for path in CASES}
