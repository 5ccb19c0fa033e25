# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The controller dies in the middle of a deployment; the next one finishes it."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from samewire_lab.waiting import wait_for
from tests.lab.driver import INVENTORY, PLAIN, ROOT
from tests.lab.shell import on

HOSTS = ("node0", "node1")
PHASES = (
    "Check that the hosts have what it takes",
    "Prove the wire",
    "Pull the image",
    "Prepare the hosts",
    "Start the containers",
    "Wait for Ray",
    "Wait for vLLM",
    "Prove that every layer is on the same wire",
)

pytestmark = pytest.mark.heals
Rows = list[tuple[str, ...]]


def deploy(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["samewire", "deploy", "-i", INVENTORY, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env=PLAIN,
        start_new_session=True,
    )


def kill_in(phase: str, process: subprocess.Popen[str]) -> None:
    """Kill the driver and all that it started, as soon as the phase has begun."""
    assert process.stdout
    for line in process.stdout:
        if f"{phase} …" in line and "done in" not in line:
            break
    else:
        pytest.fail(f"the deployment ended before {phase}")
    children = _descendants(process.pid)
    for pid in (process.pid, *children):
        os.kill(pid, signal.SIGKILL)
    process.wait()


def _descendants(pid: int) -> list[int]:
    """Return the children of a process, and theirs."""
    listed = subprocess.run(
        ["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
    ).stdout
    parents = [tuple(map(int, line.split())) for line in listed.splitlines()]
    found, new = [], [pid]
    while new:
        new = [child for child, parent in parents if parent in new]
        found += new
    return found


@pytest.mark.parametrize("phase", PHASES)
def test_the_controller_dies(phase: str, rows: Rows) -> None:
    # Another value makes all containers due.
    change = f"ray_node_environment={{LAB_CASE: '{PHASES.index(phase)}'}}"
    with deploy("-e", change) as killed:
        kill_in(phase, killed)
    begun = time.monotonic()
    with deploy("-e", change) as again:
        said = again.communicate()[0]
    assert again.returncode == 0, said
    rows.append(
        (f"the controller dies in: {phase}", f"{time.monotonic() - begun:.0f} s to the end")
    )
    for host, names in (("node0", ["lab-ray", "lab-vllm"]), ("node1", ["lab-ray"])):
        listed = on(host).read("docker ps --all --format '{{.Names}}' | sort").splitlines()
        assert listed == names
    # What listened for the proof of the wire ends by itself, at the latest after a minute.
    wait_for(
        lambda: all(on(host).run("pgrep -f wire_proof").returncode == 1 for host in HOSTS),
        90,
        "something of the proof of the wire is left",
    )
