# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Each bad input ends a deployment before anything is changed, with one sentence that says what to do."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from tests.lab.shell import on

ROOT = pathlib.Path(__file__).parents[2]
INVENTORY = ROOT / "inventories/lab"
HOSTS = ("node0", "node1")
MODEL_AWAY = ("mv /models/tiny /models/away", "mv /models/away /models/tiny")

Undo = contextlib.AbstractContextManager[None]


def state(host: str) -> str:
    """Return what a deployment could change: containers, images, files of the cluster."""
    return on(host).read(
        "docker ps --all --no-trunc --format '{{.ID}} {{.State}} {{.Names}}';"
        "docker images --quiet --no-trunc;"
        "find /root/.samewire -path '*/ray' -prune -o -type f -exec sha256sum {} + 2>&1 | sort",
    )


def deploy(inventory: pathlib.Path, *arguments: str) -> tuple[int, str]:
    """Deploy as a user does; return the exit code and all that was printed."""
    done = subprocess.run(
        ["samewire", "deploy", "-i", str(inventory), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "4000"},
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def inventory(tmp_path: pathlib.Path) -> pathlib.Path:
    """Return a copy of the lab's inventory under a name of its own."""
    copy = tmp_path / "lab"
    shutil.copytree(INVENTORY, copy)
    return copy


def edit(inventory: pathlib.Path, file: str, change: Callable[[dict[str, Any]], None]) -> None:
    path = inventory / file
    content = yaml.safe_load(path.read_text())
    change(content)
    path.write_text(yaml.safe_dump(content))


@contextlib.contextmanager
def on_host(host: str, do: str, undo: str) -> Iterator[None]:
    on(host).read(do)
    try:
        yield
    finally:
        on(host).read(undo)


@contextlib.contextmanager
def listening(host: str, port: int) -> Iterator[None]:
    """Have another program take a port on a host."""
    on(host).read(
        f"setsid python3 -m http.server {port} >/dev/null 2>&1 & "
        f"for i in $(seq 100); do curl -s -o /dev/null http://127.0.0.1:{port} && exit 0; done; exit 1",
    )
    try:
        yield
    finally:
        on(host).read(f"pkill -f 'http[.]server {port}'")


def refused(
    inventory: pathlib.Path, sentence: str, *arguments: str, code: int = 3, undo: Undo | None = None
) -> None:
    """Deploy and expect the sentence, the exit code and no change on any host."""
    before = {host: state(host) for host in HOSTS}
    with undo or contextlib.nullcontext():
        status, printed = deploy(inventory, *arguments)
    assert re.search(sentence, printed), printed
    assert status == code
    assert {host: state(host) for host in HOSTS} == before


def test_unreachable_host(inventory: pathlib.Path) -> None:
    def move(hosts: dict[str, Any]) -> None:
        hosts["ray_workers"]["hosts"]["node1"]["ansible_host"] = "10.213.1.199"

    edit(inventory, "hosts.yml", move)
    refused(
        inventory,
        r"node1: cannot be reached over SSH at root@10\.213\.1\.199 \(ssh: connect to host "
        r"10\.213\.1\.199 port 22: .*\); check ansible_host, ansible_user and the key with: "
        r"ssh root@10\.213\.1\.199",
        code=4,
    )


def test_no_docker_on_a_host(inventory: pathlib.Path) -> None:
    hidden = on_host(
        "node1", "mv /run/docker.sock /run/docker.hidden", "mv /run/docker.hidden /run/docker.sock"
    )
    refused(
        inventory,
        r"node1: no Docker Engine answers \(/var/run/docker\.sock does not exist\); install and start "
        r"it \(Debian, Ubuntu: apt install docker\.io\) on node1",
        undo=hidden,
    )


def test_a_user_without_rights_to_docker(inventory: pathlib.Path) -> None:
    refused(
        inventory,
        r"node1: user operator may not use Docker \(no permission to open /var/run/docker\.sock\); add "
        r"operator to group docker on node1, or set ansible_become: true in the inventory",
        "-e",
        "ansible_user=operator",
    )


def test_a_host_without_a_fabric_address(inventory: pathlib.Path) -> None:
    without = on_host(
        "node1",
        "ip address del 10.213.2.13/24 dev enp1s0f1np1",
        "ip address add 10.213.2.13/24 dev enp1s0f1np1",
    )
    refused(
        inventory,
        r"10\.213\.2\.0/24 joins node0, but node1 has no usable address in it \(node1 has 172\.17\.0\.1/16 "
        r"on docker0, 10\.213\.1\.181/24 on enP7s7, and enp1s0f1np1 up without an address\); add one, or set "
        r"interconnect_network to 10\.213\.1\.0/24 to use the network of the default route\.",
        undo=without,
    )


def test_two_heads(inventory: pathlib.Path) -> None:
    def both(hosts: dict[str, Any]) -> None:
        hosts["ray_head"]["hosts"].update(hosts.pop("ray_workers")["hosts"])

    edit(inventory, "hosts.yml", both)
    refused(
        inventory,
        r"group ray_head has 2 hosts \(node0, node1\): expected one; keep node0 and move node1 to "
        r"ray_workers",
    )


def test_no_worker_where_the_size_needs_one(inventory: pathlib.Path) -> None:
    edit(inventory, "hosts.yml", lambda hosts: hosts.pop("ray_workers"))
    refused(
        inventory,
        r"node0: tensor parallel 2 x pipeline parallel 1 needs 2 GPUs, got 1 on this host and no worker; "
        r"add a host to group ray_workers or lower vllm_server_tensor_parallel_size",
    )


def test_more_ranks_than_gpus(inventory: pathlib.Path) -> None:
    refused(
        inventory,
        r"node0: tensor parallel 4 x pipeline parallel 1 needs 4 GPUs, got 2 in the cluster \(node0: 1, "
        r"node1: 1\); lower vllm_server_tensor_parallel_size or vllm_server_pipeline_parallel_size, or "
        r"add hosts",
        "-e",
        "vllm_server_tensor_parallel_size=4",
    )


def test_an_image_that_does_not_exist(inventory: pathlib.Path) -> None:
    refused(
        inventory,
        r"node0: image 10\.213\.1\.1:5000/samewire/nothing:1 is neither on the host nor to be had from its "
        r"registry \(.+\); correct container_image_name, or log in with docker login on node0",
        "-e",
        "container_image_name=10.213.1.1:5000/samewire/nothing:1",
    )


def test_a_model_path_missing_on_one_host_that_nobody_shall_bring(inventory: pathlib.Path) -> None:
    refused(
        inventory,
        r"node1: model path /models/tiny does not exist; expected the weights there on every host, copy "
        r"them to node1 or correct vllm_server_model",
        "-e",
        "model_weights_sync=false",
        undo=on_host("node1", *MODEL_AWAY),
    )


def test_a_model_path_that_no_host_has(inventory: pathlib.Path) -> None:
    refused(
        inventory,
        r"no host has the model: expected /models/none on at least one of node0, node1; copy it to node0, "
        r"correct vllm_server_model, or give a hub id",
        "-e",
        "vllm_server_model=/models/none",
    )


def test_weights_that_have_no_way_to_a_host(inventory: pathlib.Path) -> None:
    do, undo = MODEL_AWAY
    refused(
        inventory,
        r"node1: rsync is not installed, expected it for the weights to go over the interconnect; install it "
        r"\(Debian, Ubuntu: apt install rsync\) on node1",
        undo=on_host(
            "node1",
            f"{do}; mv /usr/bin/rsync /usr/bin/rsync.away",
            f"{undo}; mv /usr/bin/rsync.away /usr/bin/rsync",
        ),
    )


def test_a_hub_that_no_host_reaches(inventory: pathlib.Path) -> None:
    refused(
        inventory,
        r"no host has org/none, and the hub at http://127\.0\.0\.1:9 is not reached \(node0: \[Errno 111\] "
        r"Connection refused, node1: \[Errno 111\] Connection refused\); open the way to it from one host, "
        r"set HF_ENDPOINT or HTTPS_PROXY in ray_node_environment, or copy the model to a host and give its "
        r"path as vllm_server_model",
        "-e",
        "vllm_server_model=org/none",
        "-e",
        "ray_node_environment={HF_ENDPOINT: http://127.0.0.1:9}",
    )


def test_a_port_taken(inventory: pathlib.Path) -> None:
    refused(
        inventory,
        r"node0: port 8123 for the vLLM API is taken by python3 \(pid \d+\); stop it or set "
        r"vllm_server_port to a free port",
        "-e",
        "vllm_server_port=8123",
        undo=listening("node0", 8123),
    )


@pytest.mark.parametrize(
    "name", ["vllm_server_tensor_paralel_size", "vlm_server_tensor_parallel_size"]
)
def test_a_misspelt_variable(inventory: pathlib.Path, name: str) -> None:
    refused(
        inventory,
        rf"node0: variable {name} is not known; did you mean vllm_server_tensor_parallel_size\? Correct "
        r"the name in the inventory",
        "-e",
        f"{name}=2",
    )


def test_an_override_that_breaks_the_plan(inventory: pathlib.Path) -> None:
    refused(
        inventory,
        r"node0: the environment sets VLLM_HOST_IP='10\.213\.1\.180', but the plan needs '10\.213\.2\.12' "
        r"so that every layer uses the same wire; remove the override, or pin interconnect_network or "
        r"interconnect_interface if the plan is wrong",
        "-e",
        "ray_node_environment={VLLM_HOST_IP: 10.213.1.180}",
    )
