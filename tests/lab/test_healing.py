# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What befalls a running cluster heals without a controller: how soon, and at what cost?"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import docker
import pytest

from samewire_lab import spec
from samewire_lab.waiting import wait_for
from tests.lab.driver import CLUSTER, INVENTORY, samewire
from tests.lab.load import Load
from tests.lab.shell import on

HOSTS = ("node0", "node1")
STARTS = "/tmp/samewire-starts.json"
SMALL_DISK = "/root/.samewire"

pytestmark = pytest.mark.heals
Rows = list[tuple[str, ...]]


@dataclass(frozen=True)
class Blow:
    """What befalls the cluster; it blocks while it lasts. within: seconds to heal after it is over."""

    name: str
    strike: Callable[[], object]
    within: int = 240
    # Whether the requests notice; a cut of seconds may pass unseen.
    felt: bool = True


def _kill(host: str, container: str) -> None:
    """Kill the first process of a container behind Docker's back, as a crash does."""
    on(host).read(f"kill -9 $(docker inspect --format '{{{{.State.Pid}}}}' {container})")


def _restart_engine(host: str) -> None:
    before = on(host).engine()
    on(host).read("pkill -x dockerd")
    wait_for(lambda: on(host).engine() not in ("", before), 60, f"Docker on {host} did not return")


def _reboot(*hosts: str) -> None:
    """Restart hosts, one after the other; the volumes of their engines stay."""
    client = docker.from_env()
    for host in hosts:
        client.containers.get(f"{spec.PREFIX}-{host}").restart(timeout=5)
    wait_for(lambda: all(on(host).engine() for host in hosts), 90, f"{hosts} did not return")


def _cut(seconds: float) -> None:
    """Take the fabric of the worker away and give it back, as a loose cable does."""
    on("node1").read(
        f"ip link set enp1s0f1np1 down; sleep {seconds}; ip link set enp1s0f1np1 up; "
        "ip address replace 10.213.2.13/24 dev enp1s0f1np1"
    )


def _fill_disk(host: str) -> None:
    """Leave no byte of the disk of Ray's sessions and logs, for half a minute."""
    on(host).read(
        f"head -c 10G /dev/zero > {SMALL_DISK}/full 2>/dev/null; "
        f"left=$(df --output=avail {SMALL_DISK} | tail -1); sleep 30; rm {SMALL_DISK}/full; test $left = 0"
    )


BLOWS = [
    Blow("vLLM is killed", lambda: _kill("node0", "lab-vllm")),
    Blow("Ray on the worker is killed", lambda: _kill("node1", "lab-ray")),
    Blow("Ray on the head is killed", lambda: _kill("node0", "lab-ray")),
    Blow("Docker on the worker restarts", lambda: _restart_engine("node1")),
    Blow("Docker on the head restarts", lambda: _restart_engine("node0")),
    Blow("the worker reboots", lambda: _reboot("node1")),
    Blow("the head reboots", lambda: _reboot("node0")),
    Blow("both reboot, the head first", lambda: _reboot("node0", "node1")),
    Blow("both reboot, the worker first", lambda: _reboot("node1", "node0")),
    Blow("the fabric is cut for 5 s", lambda: _cut(5), felt=False),
    Blow("the fabric is cut for 60 s", lambda: _cut(60)),
    Blow("the fabric is cut for 10 min", lambda: _cut(600)),
]


def deployed() -> dict[str, object]:
    """Deploy the cluster; return what was proven."""
    done = samewire("deploy", "-i", INVENTORY)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(json.loads((CLUSTER / "record.json").read_text()))


@pytest.fixture(scope="module")
def record() -> dict[str, object]:
    return deployed()


@pytest.fixture
def load(record: dict[str, object]) -> Iterator[Load]:
    # The blows of one test run are no loop of the server's own.
    on("node0").read(f"docker exec lab-vllm rm -f {STARTS}")
    with Load(record) as load:
        wait_for(lambda: load.right_since(0), 60, "the cluster does not serve before the blow")
        yield load


@pytest.fixture
def _small_disks() -> Iterator[None]:
    """Give the hosts a small disk for the cluster's files, and deploy there."""
    clean = "docker rm -f lab-vllm lab-ray >/dev/null 2>&1 || true; "
    for host in HOSTS:
        on(host).read(
            f"{clean} mkdir -p {SMALL_DISK}; mount -t tmpfs -o size=256m tmpfs {SMALL_DISK}"
        )
    yield
    for host in HOSTS:
        on(host).read(f"{clean} umount {SMALL_DISK}")


def containers() -> dict[str, list[str]]:
    """Return the containers of each host, with their ids."""
    command = "docker ps --all --no-trunc --format '{{.Names}} {{.ID}}' | sort"
    return {host: on(host).read(command).splitlines() for host in HOSTS}


def serving() -> bool:
    """Tell whether the status is good again."""
    done = samewire("status", "-i", INVENTORY, "--json")
    return done.returncode == 0 and json.loads(done.stdout)["verdict"] == "serving"


def heals(blow: Blow, load: Load, rows: Rows) -> None:
    """Strike, and wait until all is well again."""
    before = containers()
    begun = time.monotonic()
    blow.strike()
    over = time.monotonic()
    if blow.felt:
        wait_for(lambda: load.failed_since(begun), 120, "no request noticed")
    since = wait_for(lambda: load.right_since(over), blow.within, "answers are not right again")
    failed = load.failed_since(begun)
    rows.append(
        (
            blow.name,
            f"lasted {over - begun:.0f} s",
            f"{since - over:.0f} s after it",
            f"{failed} failed",
        )
    )
    assert containers() == before
    wait_for(serving, 60, "the status is not good again")


@pytest.mark.parametrize("blow", BLOWS, ids=[blow.name for blow in BLOWS])
def test_it_heals(blow: Blow, load: Load, rows: Rows) -> None:
    heals(blow, load, rows)


@pytest.mark.usefixtures("_small_disks")
@pytest.mark.parametrize("host", HOSTS)
def test_a_full_disk(host: str, rows: Rows) -> None:
    blow = Blow(f"the disk of {host} is full for 30 s", lambda: _fill_disk(host), felt=False)
    with Load(deployed()) as load:
        wait_for(lambda: load.right_since(0), 60, "the cluster does not serve before the blow")
        heals(blow, load, rows)
