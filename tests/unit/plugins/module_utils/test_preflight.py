# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a host lacks is one sentence that names the host, what was found and the cure."""

from __future__ import annotations

import pathlib
from dataclasses import replace
from typing import Any

import pytest
import yaml

from ansible_collections.samewire.vllm.plugins.module_utils import _preflight, _shape
from tests.unit.plugins.module_utils.test_model import published

ROOT = pathlib.Path(__file__).parents[4]
DESIRE = _preflight.Desire(
    head="node0",
    image="registry.example/vllm:1",
    model="/models/tiny",
    sizes=_shape.Sizes(tensor=2),
    gpus={"node0": 1, "node1": 1},
    ports={
        "node0": {
            6379: ("the Ray head", "ray_node_port"),
            8000: ("the vLLM API", "vllm_server_port"),
        },
        "node1": {},
    },
)


def node(**changes: Any) -> dict[str, Any]:
    return {
        "user": "root",
        "requests": True,
        "docker": {"version": "20.10.24", "reason": None},
        "image": {"local": None, "registry": "sha256:1", "reason": None},
        "foreign": {},
        "ports": {},
        "paths": {"/models/tiny": True},
        "directory": {"path": "/root/.samewire", "writable": True},
        "shm": 2 << 30,
        "gpus": {"found": None, "reason": "no nvidia-smi on this host"},
        **changes,
    }


def test_nothing_stands_against_two_good_hosts() -> None:
    assert _preflight.problems({"node0": node(), "node1": node()}, DESIRE) == []


@pytest.mark.parametrize(
    ("host", "changes", "problem"),
    [
        (
            "node1",
            {
                "docker": {"version": None, "reason": "/var/run/docker.sock does not exist"},
                "image": {"local": None, "registry": None, "reason": "no engine"},
            },
            "node1: no Docker Engine answers (/var/run/docker.sock does not exist); install and start it "
            "(Debian, Ubuntu: apt install docker.io) on node1",
        ),
        (
            "node1",
            {
                "user": "operator",
                "docker": {"version": None, "reason": "no permission to open /var/run/docker.sock"},
            },
            "node1: user operator may not use Docker (no permission to open /var/run/docker.sock); add "
            "operator to group docker on node1, or set ansible_become: true in the inventory",
        ),
        (
            "node1",
            {"requests": False},
            "node1: Python of user root lacks the library requests, which Ansible's Docker modules need; "
            "install it (Debian, Ubuntu: apt install python3-requests) on node1",
        ),
        (
            "node1",
            {"image": {"local": None, "registry": None, "reason": "manifest unknown"}},
            "node1: image registry.example/vllm:1 is neither on the host nor to be had from its registry "
            "(manifest unknown); correct container_image_name, or log in with docker login on node1",
        ),
        (
            "node1",
            {"paths": {"/models/tiny": False}},
            "node1: model path /models/tiny does not exist; expected the weights there on every host, "
            "copy them to node1 or correct vllm_server_model",
        ),
        (
            "node0",
            {"ports": {"8000": "nginx (pid 812)"}},
            "node0: port 8000 for the vLLM API is taken by nginx (pid 812); stop it or set "
            "vllm_server_port to a free port",
        ),
        (
            "node0",
            {"directory": {"path": "/srv/samewire", "writable": False}},
            "node0: user root may not write /srv/samewire; set ray_node_directory to a directory of that "
            "user, or ansible_become: true",
        ),
        (
            "node1",
            {"foreign": {"lab-ray": None}},
            "node1: container lab-ray is not Samewire's: expected the label samewire.cluster=lab, got one "
            "without that label; rename the cluster, or rename or remove that container",
        ),
        (
            "node1",
            {"shm": 64 << 20},
            "node1: /dev/shm has 64 MiB, expected at least 1,024 MiB for Ray and NCCL; enlarge it with: "
            "mount -o remount,size=8G /dev/shm on node1 (and in /etc/fstab)",
        ),
    ],
)
def test_what_a_host_lacks(host: str, changes: dict[str, Any], problem: str) -> None:
    nodes = {"node0": node(), "node1": node(), host: node(**changes)}
    assert _preflight.problems(nodes, DESIRE) == [problem]


@pytest.mark.parametrize(
    ("gate", "changes"),
    [
        ("shm", {"shm": 64 << 20}),
        ("ports", {"ports": {"8000": "nginx (pid 812)"}}),
        ("weights", {"paths": {"/models/tiny": False}}),
    ],
)
def test_a_gate_that_is_skipped(gate: str, changes: dict[str, Any]) -> None:
    nodes = {"node0": node(**changes), "node1": node()}
    assert len(_preflight.problems(nodes, DESIRE)) == 1
    assert _preflight.problems(nodes, replace(DESIRE, skip=frozenset({gate}))) == []


def test_a_preset_may_ask_for_more_shared_memory() -> None:
    desire = replace(DESIRE, shm={"node1": 3 << 30})
    said = _preflight.problems({"node0": node(), "node1": node()}, desire)
    assert [each.partition(" for ")[0] for each in said] == [
        "node1: /dev/shm has 2,048 MiB, expected at least 3,072 MiB"
    ]


def test_a_host_that_does_not_say_the_size_of_its_shared_memory() -> None:
    assert _preflight.problems({"node0": node(shm=None), "node1": node()}, DESIRE) == []


def test_the_gates_are_those_that_the_role_knows() -> None:
    text = (ROOT / "roles/cluster/meta/argument_specs.yml").read_text(encoding="utf-8")
    options = yaml.safe_load(text)["argument_specs"]["main"]["options"]
    assert tuple(options["cluster_skip_gates"]["choices"]) == _preflight.GATES


@pytest.mark.parametrize("distribution", ["auto", "head"])
def test_an_image_that_the_head_sends_needs_no_registry(distribution: str) -> None:
    lacking = node(image={"local": None, "registry": None, "reason": "no route to host"})
    desire = replace(DESIRE, distribution=distribution)
    assert _preflight.problems({"node0": node(), "node1": lacking}, desire) == []
    assert len(_preflight.problems({"node0": lacking, "node1": node()}, desire)) == 1


def test_an_image_on_the_host_needs_no_registry() -> None:
    local = node(image={"local": "sha256:2", "registry": None, "reason": None})
    assert _preflight.problems({"node0": local, "node1": local}, DESIRE) == []


def test_sizes_that_do_not_fit_are_said_first() -> None:
    taken = node(ports={"8000": "nginx (pid 812)"})
    desire = replace(DESIRE, sizes=_shape.Sizes(tensor=4))
    assert _preflight.problems({"node0": taken, "node1": node()}, desire) == [
        "node0: tensor parallel 4 x pipeline parallel 1 needs 4 GPUs, got 2 in the cluster (node0: 1, "
        "node1: 1); "
        "lower vllm_server_tensor_parallel_size or vllm_server_pipeline_parallel_size, or add hosts",
        "node0: port 8000 for the vLLM API is taken by nginx (pid 812); stop it or set vllm_server_port to a "
        "free port",
    ]


def test_sizes_are_held_against_the_model_unless_skipped() -> None:
    desire = replace(
        DESIRE,
        sizes=_shape.Sizes(tensor=3),
        gpus={"node0": 2, "node1": 2},
        figures=published("Llama-3.1-8B"),
    )
    nodes = {"node0": node(), "node1": node()}
    assert _preflight.problems(nodes, desire) == [
        "node0: tensor parallel 3 does not divide the 32 attention heads of LlamaForCausalLM; set "
        "vllm_server_tensor_parallel_size to 2 or 4"
    ]
    assert _preflight.problems(nodes, replace(desire, skip=frozenset({"fit"}))) == []


def test_an_unreachable_host() -> None:
    reason = (
        "Task failed: Failed to connect to the host via ssh: ssh: connect to host 10.1.230.181 "
        "port 22:\nNo route to host"
    )
    assert _preflight.unreachable_problem("spark1", "me@10.1.230.181", reason) == (
        "spark1: cannot be reached over SSH at me@10.1.230.181 (ssh: connect to host 10.1.230.181 port "
        "22: No route to host); check ansible_host, ansible_user and the key with: ssh me@10.1.230.181"
    )
