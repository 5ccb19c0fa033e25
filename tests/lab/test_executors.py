# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""vLLM without Ray: deployed, proven, healed, stopped and started, and changed for Ray and back."""

from __future__ import annotations

import json
import time

import pytest

from samewire_lab.waiting import wait_for
from tests.lab.driver import CLUSTER, INVENTORY, samewire
from tests.lab.load import Load
from tests.lab.shell import on

WITHOUT_RAY = "vllm_server_executor=mp"
ALONE = {"node0": ["lab-vllm"], "node1": ["lab-vllm"]}
ON_RAY = {"node0": ["lab-ray", "lab-vllm"], "node1": ["lab-ray"]}
STARTS = "/tmp/samewire-starts.json"

pytestmark = pytest.mark.heals
Rows = list[tuple[str, ...]]


def run(verb: str, *variables: str) -> dict[str, object]:
    given = [part for variable in variables for part in ("-e", variable)]
    done = samewire(verb, "-i", INVENTORY, "--json", *given)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(json.loads(done.stdout))


def record() -> dict[str, object]:
    return dict(json.loads((CLUSTER / "record.json").read_text()))


def names() -> dict[str, list[str]]:
    command = "docker ps --all --format '{{.Names}}' | sort"
    return {host: on(host).read(command).split() for host in ALONE}


def serves() -> dict[str, object]:
    done = samewire("status", "-i", INVENTORY, "--json")
    found = dict(json.loads(done.stdout))
    assert found["verdict"] == "serving", found["reason"]
    return found


def kill(host: str, process: str) -> None:
    """Kill a process of the host's part of vLLM, as a crash does; it is named as the kernel has it."""
    on(host).read(
        f"docker exec lab-vllm sh -c 'for each in /proc/[0-9]*; do "
        f"case $(cat $each/comm) in {process}) kill -9 ${{each#/proc/}};; esac; done"
        f"'"
    )


def kill_container(host: str) -> None:
    on(host).read("kill -9 $(docker inspect --format '{{.State.Pid}}' lab-vllm)")


def test_it_is_proven_and_a_second_deployment_changes_nothing() -> None:
    run("deploy", WITHOUT_RAY)
    assert names() == ALONE
    assert record()["executor"] == "mp"
    assert serves()["executor"] == "mp"
    assert run("deploy", WITHOUT_RAY)["changed"] == 0


BLOWS = {
    "the head's part is killed": lambda: kill_container("node0"),
    "the worker's part is killed": lambda: kill_container("node1"),
    "a rank on the head is killed": lambda: kill("node0", "VLLM::Worker*"),
    "a rank on the worker is killed": lambda: kill("node1", "VLLM::Worker*"),
    "the engine is killed": lambda: kill("node0", "VLLM::EngineCor*"),
}


@pytest.mark.parametrize("blow", BLOWS)
def test_it_heals(blow: str, rows: Rows) -> None:
    for host in ALONE:
        # The blows of one test run are no loop of the server's own.
        on(host).read(f"docker exec lab-vllm rm -f {STARTS}")
    with Load(record()) as load:
        wait_for(lambda: load.right_since(0), 60, "the cluster does not serve before the blow")
        begun = time.monotonic()
        BLOWS[blow]()
        wait_for(lambda: load.failed_since(begun), 120, "no request noticed")
        since = wait_for(lambda: load.right_since(begun), 300, "answers are not right again")
    rows.append((f"{blow}, without Ray", f"{since - begun:.0f} s after it"))
    assert names() == ALONE
    serves()


def test_down_and_up() -> None:
    assert run("stop")["changed"] == 2
    assert run("start")["changed"] == 2
    serves()
    assert run("start")["changed"] == 0


def test_a_change_for_ray_that_fails_is_taken_back() -> None:
    broken = (
        *("-e", "vllm_server_executor=ray", "-e", "vllm_server_extra_args=[--no-such-argument]"),
        # So that the firewall is another, too.
        *("-e", "vllm_server_port=8001", "-e", "ray_node_port=6380"),
    )
    done = samewire("deploy", "-i", INVENTORY, *broken)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "unrecognized arguments: --no-such-argument" in done.stdout
    assert names() == ALONE
    with Load(record()) as load:
        wait_for(lambda: load.right_since(0), 300, "the cluster as it was does not serve again")
    assert run("deploy", WITHOUT_RAY)["changed"] == 0


def test_back_on_ray() -> None:
    run("deploy")
    assert names() == ON_RAY
    assert record()["executor"] == "ray"
    serves()
