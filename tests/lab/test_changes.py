# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A change is predicted truly, restarts what depends on it, in order, and nothing else."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import time
from dataclasses import dataclass

import pytest

from tests.lab.driver import CLUSTER, INVENTORY, ROOT, samewire
from tests.lab.shell import on

CONTAINERS = (("node0", "lab-ray"), ("node0", "lab-vllm"), ("node1", "lab-ray"))

pytestmark = pytest.mark.heals
Rows = list[tuple[str, ...]]


def deploy(*arguments: str, inventory: str = INVENTORY) -> set[tuple[str, str]]:
    """Deploy; return the tasks that changed something, or would, with their hosts."""
    done = samewire("deploy", "-i", inventory, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return changes((CLUSTER / "last-run.log").read_text())


def changes(log: str) -> set[tuple[str, str]]:
    """Return task and host of each change in the output of ansible-playbook."""
    found = set()
    task = ""
    for line in log.splitlines():
        if begun := re.match(r"TASK \[(.*)\] \**", line):
            task = begun[1]
        elif changed := re.match(r"changed: \[([^\s\]]+)", line):
            found.add((task, changed[1]))
    return found


def started() -> dict[tuple[str, str], float]:
    """Return when each container was started, in seconds of the epoch."""
    times = {}
    for host, name in CONTAINERS:
        text = on(host).read(
            f"date -d $(docker inspect --format '{{{{.State.StartedAt}}}}' {name}) +%s.%N"
        )
        times[host, name] = float(text)
    return times


@dataclass(frozen=True)
class Change:
    """Variables of a deployment, and what must start anew for them, in this order."""

    name: str
    variables: tuple[str, ...]
    anew: tuple[tuple[str, str], ...]


CHANGES = [
    Change(
        "another name of the model",
        ("vllm_server_served_model_name=tiny",),
        (("node0", "lab-vllm"),),
    ),
    Change(
        "a variable of NCCL",
        ("vllm_server_served_model_name=tiny", "ray_node_environment={NCCL_DEBUG: INFO}"),
        (("node0", "lab-ray"), ("node1", "lab-ray"), ("node0", "lab-vllm")),
    ),
    Change(
        "an argument of the workers alone",
        (
            "vllm_server_served_model_name=tiny",
            "ray_node_environment={NCCL_DEBUG: INFO}",
            "ray_worker_extra_args=[--disable-usage-stats]",
        ),
        (("node1", "lab-ray"), ("node0", "lab-vllm")),
    ),
]


@pytest.fixture(scope="module", autouse=True)
def _deployed() -> None:
    deploy()


@pytest.mark.parametrize("change", CHANGES, ids=[change.name for change in CHANGES])
def test_a_change(change: Change) -> None:
    given = [part for variable in change.variables for part in ("-e", variable)]
    before = started()
    predicted = deploy("--check", *given)
    assert started() == before
    made = deploy(*given)
    assert predicted == made
    after = started()
    anew = [container for container in after if after[container] != before[container]]
    assert tuple(sorted(anew, key=lambda container: after[container])) == change.anew
    begun = time.monotonic()
    assert deploy(*given) == set()
    print(f"no change in {time.monotonic() - begun:.1f} s")


def test_a_worker_leaves_and_another_joins(tmp_path: pathlib.Path) -> None:
    alone = tmp_path / "alone"
    source = ROOT / INVENTORY
    subprocess.run(["cp", "-r", str(source), str(alone)], check=True)
    hosts = (alone / "hosts.yml").read_text()
    (alone / "hosts.yml").write_text(hosts[: hosts.index("ray_workers:")])
    pinned = (
        "-e",
        "interconnect_network=10.213.2.0/24",
        "-e",
        "vllm_server_tensor_parallel_size=1",
    )
    predicted = deploy("--check", *pinned, inventory=str(alone))
    assert deploy(*pinned, inventory=str(alone)) == predicted
    assert on("node1").read("docker ps --all --quiet") == ""
    assert on("node1").run("test -e /root/.samewire/lab").returncode != 0
    predicted = deploy("--check")
    assert deploy() == predicted
    record = json.loads((CLUSTER / "record.json").read_text())
    assert sorted(record["nodes"]) == ["node0", "node1"]
