# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What is observed after a deployment must be the plan, or a sentence says where it is not."""

from __future__ import annotations

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _proof
from tests.unit.plans import plan

GPUS = {"spark0": 1, "spark1": 1}
ADDRESSES = {
    "spark0": ["10.1.230.180/24", "192.168.200.12/24", "172.17.0.1/16"],
    "spark1": ["10.1.230.181/24", "192.168.200.13/24", "172.17.0.1/16"],
}


def connection(local: str, remote: str) -> dict[str, object]:
    return {"local": local, "local_port": 40000, "remote": remote, "remote_port": 6379}


def test_the_planned_nodes() -> None:
    registered = {"192.168.200.12": 1, "192.168.200.13": 1}
    assert _proof.node_problems(plan(), GPUS, registered) == []


def test_a_node_on_another_address_is_named_twice() -> None:
    registered = {"192.168.200.12": 1, "10.1.230.181": 1}
    assert _proof.node_problems(plan(), GPUS, registered) == [
        "spark1: Ray has no node at 192.168.200.13, got 10.1.230.181, 192.168.200.12; look at the log of "
        "the Ray container on spark1",
        "Ray has a node at 10.1.230.181 that is not in the plan; stop that Ray or plan it",
    ]


def test_missing_gpus() -> None:
    registered = {"192.168.200.12": 1, "192.168.200.13": 0}
    assert _proof.node_problems(plan(), GPUS, registered) == [
        "spark1: Ray's node at 192.168.200.13 has 0 GPUs, expected 1; correct ray_node_gpus or the GPU "
        "access of the container"
    ]


def test_connections_on_the_interconnect_within_a_host_and_to_others_are_fine() -> None:
    censuses = {
        "spark0": [
            connection("192.168.200.12", "192.168.200.13"),
            connection("10.1.230.180", "10.1.230.180"),
            connection("10.1.230.180", "10.1.230.9"),
            connection("172.17.0.1", "172.17.0.1"),
        ],
        "spark1": [connection("192.168.200.13", "192.168.200.12")],
    }
    assert _proof.stray_connections(plan(), ADDRESSES, censuses) == []


def test_one_connection_on_management_is_found_on_both_ends() -> None:
    censuses = {
        "spark0": [connection("10.1.230.180", "10.1.230.181")] * 2,
        "spark1": [connection("10.1.230.181", "10.1.230.180")],
    }
    assert _proof.stray_connections(plan(), ADDRESSES, censuses) == [
        "spark0: is connected to spark1 from 10.1.230.180 to 10.1.230.181, expected from 192.168.200.12 to "
        "192.168.200.13 on the interconnect; see what uses it with ss -tnp dst 10.1.230.181 on spark0",
        "spark1: is connected to spark0 from 10.1.230.181 to 10.1.230.180, expected from 192.168.200.13 to "
        "192.168.200.12 on the interconnect; see what uses it with ss -tnp dst 10.1.230.180 on spark1",
    ]


def test_a_silent_start_waits_for_an_address_off_the_interconnect() -> None:
    pending = {
        "spark1": [
            connection("10.1.230.181", "10.1.230.180"),
            connection("10.1.230.181", "10.1.230.9"),
        ]
    }
    assert _proof.waits_in_vain(plan(), ADDRESSES, pending) == [
        "spark1: waits in vain for spark0 at 10.1.230.180 (from 10.1.230.181), expected 192.168.200.12 on "
        "the interconnect; see what asks with ss -tnp state syn-sent on spark1"
    ]


def test_a_wire_that_failed_since_it_was_proven() -> None:
    pending = {
        "spark0": [connection("192.168.200.12", "192.168.200.13")] * 2,
        "spark1": [connection("10.1.230.181", "192.168.200.12")],
    }
    assert _proof.waits_in_vain(plan(), ADDRESSES, pending) == [
        "spark1: has lost the interconnect: asks spark0 at 192.168.200.12 from 10.1.230.181, expected from "
        "192.168.200.13; bring enp1s0f1np1 up with that address, see ip address show enp1s0f1np1 on spark1",
        "spark0: gets no answer from spark1 at 192.168.200.13 on the interconnect; see whether spark1 is up "
        "and enp1s0f1np1 there has the address, with ip address show",
    ]


def connected(*ends: tuple[str, int, str]) -> list[dict[str, object]]:
    return [
        {"local": local, "local_port": port, "remote": remote, "remote_port": 40000}
        for local, port, remote in ends
    ]


def test_without_ray_every_host_has_joined_the_head() -> None:
    wire, lead = "192.168.200.12", 29502
    joined = connected((wire, lead, "192.168.200.13"), (wire, 8000, "192.168.200.99"))
    assert _proof.part_problems(plan(), "spark0", lead, joined) == []
    others = connected(
        (wire, 29501, "192.168.200.13"),
        ("10.1.230.180", lead, "192.168.200.13"),
        (wire, lead, "192.168.200.99"),
    )
    assert _proof.part_problems(plan(), "spark0", lead, others) == [
        "spark1: has no part of vLLM that is joined to spark0 from 192.168.200.13, got 192.168.200.99; look "
        "at the log of the vLLM container on spark1",
        "spark0: a part of vLLM at 192.168.200.99 is joined that is not in the plan; stop it or plan it",
    ]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_record(scheme: str) -> None:
    found = _proof.record(
        plan(),
        head="spark0",
        api_host="10.1.230.180",
        api_port=8000,
        api_tls=scheme == "https",
        model="qwen",
        image={"reference": "vllm:1", "digest": "sha256:1"},
        gpus=GPUS,
        executor="ray",
        versions={"ray": "2.60.0"},
        completion={"prompt": "a", "text": "b"},
        presets={"spark0": "dgx-spark", "spark1": "generic"},
        proven_at="2026-01-01T00:00:00Z",
    )
    assert found == {
        "schema": "samewire.record/1",
        "cluster": "pair",
        "url": f"{scheme}://10.1.230.180:8000",
        "model": "qwen",
        "endpoints": {
            "completions": f"{scheme}://10.1.230.180:8000/v1/completions",
            "chat": f"{scheme}://10.1.230.180:8000/v1/chat/completions",
        },
        "transport": "socket",
        "network": "192.168.200.0/24",
        "nodes": {
            "spark0": {
                "role": "head",
                "address": "192.168.200.12",
                "interface": "enp1s0f0np0",
                "gpus": 1,
                "preset": "dgx-spark",
            },
            "spark1": {
                "role": "worker",
                "address": "192.168.200.13",
                "interface": "enp1s0f1np1",
                "gpus": 1,
                "preset": "generic",
            },
        },
        "image": {"reference": "vllm:1", "digest": "sha256:1"},
        "executor": "ray",
        "versions": {"ray": "2.60.0"},
        "completion": {"prompt": "a", "text": "b"},
        "proven_at": "2026-01-01T00:00:00Z",
    }
