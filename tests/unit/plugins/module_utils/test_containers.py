# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the containers of a host are given: the way to devices only where the plan and the settings say so."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _containers
from tests.unit.plans import plan

SETTINGS = _containers.NodeSettings(
    cluster="pair",
    head="spark0",
    image="registry.example/vllm:1",
    model="/models/qwen",
    directory="~/.samewire",
    port=6379,
    gpus=1,
    gpu_access="auto",
    hub_cache="~/.cache/huggingface",
    programs="",
    environment={},
    mounts=(),
)


def options(transport: str = "socket", **changes: Any) -> dict[str, Any]:
    settings = dataclasses.replace(SETTINGS, **changes)
    return _containers.node_container(plan(transport), "spark0", settings)


def test_sockets_need_no_device_and_no_limit() -> None:
    found = options()
    assert (found["devices"], found["ulimits"]) == ([], [])


@pytest.mark.parametrize("transport", ["socket", "rdma"])
def test_nothing_is_allowed_that_is_not_needed(transport: str) -> None:
    found = options(transport)
    assert found["cap_drop"] == ["ALL"]
    assert found["security_opts"] == ["no-new-privileges:true"]
    assert "CAP_DAC_OVERRIDE" in found["capabilities"]
    assert "privileged" not in found


def test_rdma_gets_the_hcas_and_may_lock_memory() -> None:
    found = options("rdma")
    assert found["devices"] == ["/dev/infiniband:/dev/infiniband:rwm"]
    assert found["capabilities"] == ["CAP_DAC_OVERRIDE", "CAP_IPC_LOCK"]
    assert found["ulimits"] == ["memlock:-1:-1"]


@pytest.mark.parametrize(
    ("access", "gpus", "requests", "runtime"),
    [
        ("auto", 1, [{"capabilities": [["gpu"]], "count": -1}], None),
        ("auto", 0, [], None),
        ("none", 1, [], None),
        ("device_request", 0, [{"capabilities": [["gpu"]], "count": -1}], None),
        ("cdi", 1, [{"driver": "cdi", "device_ids": ["nvidia.com/gpu=all"]}], None),
        ("runtime", 1, [], "nvidia"),
    ],
)
def test_ways_to_the_gpus(
    access: str, gpus: int, requests: list[dict[str, Any]], runtime: str | None
) -> None:
    found = options(gpu_access=access, gpus=gpus)
    assert found["device_requests"] == requests
    assert found.get("runtime") == runtime
    assert ("NVIDIA_VISIBLE_DEVICES" in found["env"]) == (access == "runtime")


def test_a_model_on_the_hosts_is_mounted_where_it_lies() -> None:
    assert options()["volumes"] == [
        "~/.samewire/pair/node:/samewire:ro",
        "~/.samewire/pair/secrets:/samewire-secrets:ro",
        "~/.samewire/pair/ray:/tmp/ray:rw",
        "~/.samewire/pair/rpc:/tmp/samewire-rpc:rw",
        "/models/qwen:/models/qwen:ro",
    ]


def test_a_model_of_the_hub_gets_the_cache_of_the_host() -> None:
    found = options(model="Qwen/Qwen3.5-122B-A10B-FP8", mounts=("/data:/data:ro",))
    assert found["volumes"][-2:] == ["~/.cache/huggingface:/samewire-hub:rw", "/data:/data:ro"]
    assert found["env"]["HF_HOME"] == "/samewire-hub"
    assert "HF_HUB_OFFLINE" not in found["env"]


def test_nobody_asks_the_hub_for_what_is_there_unless_told_to() -> None:
    assert options(model="o/m", offline=True)["env"]["HF_HUB_OFFLINE"] == "1"
    asks = options(model="o/m", offline=True, environment={"HF_HUB_OFFLINE": "0"})
    assert asks["env"]["HF_HUB_OFFLINE"] == "0"
    assert "HF_HUB_OFFLINE" not in options(offline=True)["env"]


def test_programs_are_named_only_when_the_user_does() -> None:
    assert "SAMEWIRE_PROGRAMS" not in options()["env"]
    assert options(programs="/srv/bin")["env"]["SAMEWIRE_PROGRAMS"] == "/srv/bin"


def test_the_head_and_a_worker_register_their_own_interconnect_address() -> None:
    assert _containers.ray_start(plan(), "spark0", SETTINGS, ["--num-cpus=2"]) == [
        "ray",
        "start",
        "--head",
        "--port=6379",
        "--node-ip-address=192.168.200.12",
        "--num-gpus=1",
        "--disable-usage-stats",
        "--block",
        "--num-cpus=2",
    ]
    assert _containers.ray_start(plan(), "spark1", SETTINGS)[2:4] == [
        "--address=192.168.200.12:6379",
        "--node-ip-address=192.168.200.13",
    ]


def test_a_cluster_beside_another_takes_ports_of_its_own() -> None:
    settings = dataclasses.replace(SETTINGS, port=7000)
    head, worker = (_containers.ray_start(plan(), host, settings) for host in ("spark0", "spark1"))
    assert {each for each in head if "port" in each} == {
        "--port=7000",
        "--dashboard-agent-listen-port=7001",
        "--ray-client-server-port=7002",
        "--dashboard-port=7003",
    }
    assert {each for each in worker if "port" in each} == {"--dashboard-agent-listen-port=7001"}


def test_the_nodes_to_wait_for_are_all_of_the_plan() -> None:
    expected = _containers.expected_nodes(plan(), {"spark1": 2, "spark0": 1})
    assert expected == "192.168.200.12=1,192.168.200.13=2"
