# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The container environment: one answer for every layer, and overrides that cannot break it."""

from __future__ import annotations

import json
import pathlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.samewire.vllm.plugins.module_utils import _environment
from tests.unit.plans import plan

ROOT = pathlib.Path(__file__).parents[4]


def test_sockets_on_the_second_host() -> None:
    assert _environment.node_environment(plan(), "spark1", "spark0") == {
        "GLOO_SOCKET_IFNAME": "enp1s0f1np1",
        "NCCL_IB_DISABLE": "1",
        "NCCL_NET": "Socket",
        "NCCL_SOCKET_FAMILY": "AF_INET",
        "NCCL_SOCKET_IFNAME": "=enp1s0f1np1",
        "RAY_ADDRESS": "192.168.200.12:6379",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": "/samewire-secrets/ray_token",
        "RAY_DEDUP_LOGS": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "SAMEWIRE_UNSET": (
            "MASTER_ADDR MASTER_PORT NCCL_COMM_ID NCCL_IB_ADDR_RANGE NCCL_IB_GID_INDEX NCCL_IB_HCA "
            "RAY_AUTH_TOKEN VLLM_DP_MASTER_IP"
        ),
        "TP_SOCKET_IFNAME": "enp1s0f1np1",
        "UCX_NET_DEVICES": "enp1s0f1np1",
        "VLLM_CONFIG_ROOT": "/samewire/vllm",
        "VLLM_HOST_IP": "192.168.200.13",
        "VLLM_NIXL_SIDE_CHANNEL_HOST": "192.168.200.13",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_RPC_BASE_PATH": "/tmp/samewire-rpc",
    }


def test_rdma_names_the_ports_exactly_and_forbids_the_silent_fallback() -> None:
    found = _environment.node_environment(plan("rdma"), "spark0", "spark0")
    assert found["NCCL_IB_HCA"] == "=rocep1s0f0:1,roceP2p1s0f0:1"
    assert found["NCCL_NET"] == "IB"
    assert found["NCCL_IB_DISABLE"] == "0"
    assert found["NCCL_IB_ADDR_RANGE"] == "192.168.200.0/24"
    assert found["UCX_NET_DEVICES"] == "rocep1s0f0:1,roceP2p1s0f0:1"
    assert (
        found["SAMEWIRE_UNSET"]
        == "MASTER_ADDR MASTER_PORT NCCL_COMM_ID NCCL_IB_GID_INDEX RAY_AUTH_TOKEN VLLM_DP_MASTER_IP"
    )


def test_a_known_gid_index_is_given_and_replaces_the_range() -> None:
    found = _environment.node_environment(plan("rdma", gid_index=3), "spark0", "spark0")
    assert found["NCCL_IB_GID_INDEX"] == "3"
    assert "NCCL_IB_ADDR_RANGE" not in found


def test_no_range_where_a_rail_lies_outside_it() -> None:
    """A port without a GID in the range would stay at index 0."""
    rails = plan("rdma")
    rails["hosts"]["spark0"]["rail_networks"] = ["192.168.200.0/24", "192.168.201.0/24"]
    found = _environment.node_environment(rails, "spark0", "spark0")
    assert "NCCL_IB_ADDR_RANGE" not in found
    assert "NCCL_IB_ADDR_RANGE" in found["SAMEWIRE_UNSET"].split()


@pytest.mark.parametrize(
    ("code", "variables"),
    [
        ("rails_in_separate_networks", {"NCCL_CROSS_NIC": "0"}),
        (
            "rails_point_to_point",
            {"NCCL_IB_MERGE_NICS": "0", "NCCL_IB_SUBNET_AWARE_ROUTING": "1"},
        ),
        ("small_mtu", {}),
    ],
)
def test_rails_that_do_not_reach_each_other(code: str, variables: dict[str, str]) -> None:
    rails = plan("rdma")
    plain = _environment.node_environment(rails, "spark0", "spark0")
    rails["warnings"] = [{"code": code, "host": None, "message": "m"}]
    found = _environment.node_environment(rails, "spark0", "spark0")
    assert found == dict(sorted({**plain, **variables}.items()))


def test_ipv6_is_bracketed_before_a_port_and_bare_elsewhere() -> None:
    found = _environment.node_environment(plan(family=6), "spark1", "spark0", ray_port=6380)
    assert found["RAY_ADDRESS"] == "[fd00::12]:6380"
    assert found["VLLM_HOST_IP"] == "fd00::13"
    assert found["NCCL_SOCKET_FAMILY"] == "AF_INET6"


def test_an_override_wins() -> None:
    found = _environment.node_environment(
        plan(), "spark0", "spark0", overrides={"NCCL_DEBUG": "INFO", "RAY_DEDUP_LOGS": 1}
    )
    assert (found["NCCL_DEBUG"], found["RAY_DEDUP_LOGS"]) == ("INFO", "1")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            {"VLLM_HOST_IP": "10.1.230.180"},
            "spark0: the environment sets VLLM_HOST_IP='10.1.230.180', but the plan needs "
            "'192.168.200.12' so that every layer uses the same wire; remove the override, or pin "
            "interconnect_network or interconnect_interface if the plan is wrong",
        ),
        (
            {"NCCL_COMM_ID": "10.1.230.180:29500"},
            "spark0: the environment sets NCCL_COMM_ID='10.1.230.180:29500', but the plan needs it "
            "unset so that every layer uses the same wire; remove the override, or pin "
            "interconnect_network or interconnect_interface if the plan is wrong",
        ),
        (
            {"NCCL_SOCKET_FAMILY": "AF_INET6"},
            "spark0: the environment sets NCCL_SOCKET_FAMILY='AF_INET6', but the plan needs 'AF_INET' so "
            "that every layer uses the same wire; remove the override, or pin interconnect_network or "
            "interconnect_interface if the plan is wrong",
        ),
        (
            {"NCCL_NET": "IB"},
            "spark0: the environment sets NCCL_NET='IB', but the plan needs 'Socket', since not every host "
            "has an HCA on the interconnect, so that every layer uses the same wire; remove the override, or "
            "pin interconnect_network or interconnect_interface if the plan is wrong",
        ),
        (
            {"RAY_AUTH_TOKEN": "s3cret"},
            "spark0: the environment sets RAY_AUTH_TOKEN='(not shown)', but the plan needs it unset so that "
            "every layer uses the same wire; remove the override, or pin interconnect_network or "
            "interconnect_interface if the plan is wrong",
        ),
        (
            {"NCCL_IB_GID_INDEX": ""},
            "spark0: the environment sets NCCL_IB_GID_INDEX to an empty string, which NCCL reads as 0; "
            "give a number or remove the override",
        ),
    ],
)
def test_an_override_that_breaks_the_promise_is_refused(
    overrides: dict[str, str], message: str
) -> None:
    with pytest.raises(_environment.EnvironmentRefused) as refused:
        _environment.node_environment(plan(), "spark0", "spark0", overrides=overrides)
    assert str(refused.value) == message


@pytest.mark.parametrize("value", ["=rocep1s0f0:1", "=roceP2p1s0f0:1,rocep1s0f0:1"])
def test_fewer_of_the_planned_ports_may_be_named(value: str) -> None:
    found = _environment.node_environment(
        plan("rdma"), "spark0", "spark0", overrides={"NCCL_IB_HCA": value}
    )
    assert found["NCCL_IB_HCA"] == value


@pytest.mark.parametrize("value", ["=mlx5_7:1", "rocep1s0f0:1", "^=rocep1s0f0:1", ""])
def test_ports_of_another_wire_are_refused(value: str) -> None:
    with pytest.raises(_environment.EnvironmentRefused) as refused:
        _environment.node_environment(
            plan("rdma"), "spark0", "spark0", overrides={"NCCL_IB_HCA": value}
        )
    assert str(refused.value) == (
        f"spark0: the environment sets NCCL_IB_HCA={value!r}, but the plan needs "
        "'=rocep1s0f0:1,roceP2p1s0f0:1' or fewer of these so that every layer uses the same wire; remove the "
        "override, or pin interconnect_network or interconnect_interface if the plan is wrong"
    )


def test_an_override_that_repeats_the_plan_is_no_override() -> None:
    same = {"VLLM_HOST_IP": "192.168.200.12"}
    assert _environment.node_environment(
        plan(), "spark0", "spark0", overrides=same
    ) == _environment.node_environment(plan(), "spark0", "spark0")


def test_a_host_outside_the_plan_is_named() -> None:
    with pytest.raises(_environment.EnvironmentRefused) as refused:
        _environment.node_environment(plan(), "spark2", "spark0")
    assert str(refused.value) == (
        "spark2: is not in the plan (expected one of spark0, spark1); "
        "plan the interconnect for all hosts of the cluster first"
    )


@settings(deadline=None)  # a loaded machine makes any one example slow
@given(name=st.sampled_from(sorted(_environment.PROTECTED)), value=st.text(min_size=1, max_size=20))
def test_no_value_of_a_protected_variable_changes_the_answer(name: str, value: str) -> None:
    planned = _environment.node_environment(plan("rdma"), "spark0", "spark0")
    try:
        found = _environment.node_environment(
            plan("rdma"), "spark0", "spark0", overrides={name: value}
        )
    except _environment.EnvironmentRefused:
        return
    assert found == planned


@pytest.mark.parametrize("transport", ["socket", "rdma"])
def test_every_variable_is_either_set_or_removed(transport: str) -> None:
    """An image may bake in what the plan does not set, and a container cannot remove it."""
    found = _environment.node_environment(plan(transport), "spark0", "spark0")
    for name in ("NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_ADDR_RANGE", "NCCL_COMM_ID"):
        assert (name in found) != (name in found["SAMEWIRE_UNSET"].split())


def test_the_list_for_vllm_names_all_that_differs_between_hosts() -> None:
    """The file that keeps vLLM from copying the head's values is complete."""
    path = ROOT / "roles/ray_node/files/node/vllm/ray_non_carry_over_env_vars.json"
    listed = set(json.loads(path.read_text()))
    assert listed == {*_environment.HOST_SPECIFIC, *_environment.SECRET}
    for transport, gid_index in (("socket", None), ("rdma", None), ("rdma", 3)):
        one, other = (
            _environment.node_environment(plan(transport, gid_index), host, "spark0")
            for host in ("spark0", "spark1")
        )
        assert {name for name in one if one[name] != other.get(name)} <= listed
