# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Which ports must be free where."""

from __future__ import annotations

from typing import Any

from ansible_collections.samewire.vllm.plugins.filter.node_ports import FilterModule


def own(**changes: Any) -> dict[str, Any]:
    return {
        "ray_node_port": 6379,
        "vllm_server_port": 8000,
        "vllm_server_executor": "ray",
        "vllm_server_master_port": 29501,
        "vllm_server_data_parallel_size": 1,
        **changes,
    }


def test_ports_of_the_head_and_of_a_worker() -> None:
    fixed = ["--node-manager-port=7001", "--object-manager-port", "7002", "--metrics-export-port=0"]
    ranges = ["--min-worker-port=20000", "--max-worker-port=20999", "--num-cpus=2", "--block"]
    settings = {
        "node0": own(ray_head_extra_args=["--dashboard-port=8265", "--ray-client-server-port"]),
        "node1": own(
            ray_node_extra_args=fixed + ranges,
            ray_worker_extra_args=["--dashboard-agent-grpc-port=9"],
        ),
    }
    assert FilterModule().filters()["node_ports"](settings, "node0") == {
        "node0": {
            6379: ["the Ray head", "ray_node_port"],
            8000: ["the vLLM API", "vllm_server_port"],
            8265: ["Ray's dashboard", "ray_head_extra_args"],
        },
        "node1": {
            9: ["Ray's dashboard agent grpc", "ray_worker_extra_args"],
            7001: ["Ray's node manager", "ray_node_extra_args"],
            7002: ["Ray's object manager", "ray_node_extra_args"],
        },
    }


def test_a_cluster_beside_another_needs_more_ports() -> None:
    settings = {"node0": own(ray_node_port=7000), "node1": own(ray_node_port=7000)}
    assert FilterModule().filters()["node_ports"](settings, "node0") == {
        "node0": {
            7000: ["the Ray head", "ray_node_port"],
            7001: ["Ray's dashboard agent listen", "ray_node_port"],
            7002: ["Ray's ray client server", "ray_node_port"],
            7003: ["Ray's dashboard", "ray_node_port"],
            8000: ["the vLLM API", "vllm_server_port"],
        },
        "node1": {7001: ["Ray's dashboard agent listen", "ray_node_port"]},
    }


def test_without_ray_there_are_ports_of_vllm_alone_and_undecided_both() -> None:
    ports = FilterModule().filters()["node_ports"]
    alone = {
        8000: ["the vLLM API", "vllm_server_port"],
        29501: ["vLLM's rendezvous of the ranks", "vllm_server_master_port"],
        29502: ["the parts of vLLM on the other hosts", "vllm_server_master_port"],
    }
    wanted = {host: own(vllm_server_executor="mp") for host in ("node0", "node1")}
    assert ports(wanted, "node0") == {"node0": alone, "node1": {}}
    undecided = {"node0": own(vllm_server_executor="auto", vllm_server_data_parallel_size=2)}
    assert ports(undecided, "node0")["node0"] == {
        6379: ["the Ray head", "ray_node_port"],
        **alone,
        29503: ["vLLM's replicas", "vllm_server_master_port"],
    }
    # The firewall keeps the ports of each, whichever runs.
    assert ports(wanted, "node0", executor="auto")["node0"] == {
        6379: ["the Ray head", "ray_node_port"],
        **alone,
    }
