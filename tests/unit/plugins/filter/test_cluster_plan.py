# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The filter between Ansible's values and the planner."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.samewire.vllm.plugins.filter import cluster_plan
from tests.unit.facts import lab_node

FACTS = {
    "node0": lab_node(0, "10.213.2.12/24"),
    "node1": lab_node(1, "10.213.2.13/24"),
}


def plan(*args: Any, **kwargs: Any) -> dict[str, Any]:
    result: dict[str, Any] = cluster_plan.FilterModule().filters()["cluster_plan"](*args, **kwargs)
    return result


def test_hosts_are_named_by_their_keys() -> None:
    result = plan({"a": FACTS["node0"], "b": FACTS["node1"]}, cluster="lab")

    assert result["cluster"] == "lab"
    assert {name: h["address"] for name, h in result["hosts"].items()} == {
        "a": "10.213.2.12",
        "b": "10.213.2.13",
    }


def test_pins_reach_the_planner() -> None:
    by_network = plan(FACTS, network="10.213.1.0/24")
    by_interface = plan(FACTS, interfaces={"node0": "enP7s7", "node1": ""})

    assert by_network["hosts"]["node1"]["interface"] == "enP7s7"
    assert by_interface["hosts"]["node1"]["interface"] == "enP7s7"


def test_refusal_is_a_value() -> None:
    assert plan(FACTS, network="fabric")["error"] == {
        "code": "invalid_pin",
        "message": "interconnect_network is 'fabric', which is not a network; write its first "
        "address and prefix length, such as 192.168.200.0/24.",
        "hosts": [],
    }


def test_host_without_facts_is_named() -> None:
    assert plan({**FACTS, "node1": None})["error"]["hosts"] == ["node1"]


@pytest.mark.parametrize(
    ("facts", "interfaces", "message"),
    [
        ([], {}, "cluster_plan needs its input as a mapping by host name, got list"),
        (FACTS, ["eth0"], "cluster_plan needs interfaces as a mapping by host name, got list"),
    ],
)
def test_wrong_types_are_refused(facts: Any, interfaces: Any, message: str) -> None:
    with pytest.raises(AnsibleFilterError) as caught:
        plan(facts, interfaces=interfaces)

    assert str(caught.value) == message


def test_a_head_alone_gets_an_address() -> None:
    plan = cluster_plan.cluster_plan({"node0": lab_node(0)}, head="node0")
    assert plan["hosts"]["node0"]["address"]
    assert cluster_plan.cluster_plan({"node0": lab_node(0)})["error"]["code"] == "single_host"
