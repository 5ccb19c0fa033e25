# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""stop, start, restart and teardown: each does what it says, once, and touches nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from samewire_lab.waiting import wait_for
from tests.lab.driver import CLUSTER, INVENTORY, result, samewire
from tests.lab.load import Load
from tests.lab.shell import on

HOSTS = ("node0", "node1")
STRANGER = "lab-of-somebody-else"

pytestmark = pytest.mark.deploys


def verdict() -> str:
    done = samewire("status", "-i", INVENTORY, "--json")
    found = json.loads(done.stdout)
    assert (done.returncode == 0) == (found["verdict"] == "serving")
    return str(found["verdict"])


def running(host: str) -> dict[str, str]:
    """Return since when each container of a host has been running."""
    rows = on(host).read(
        "docker ps --quiet | xargs --no-run-if-empty docker inspect --format '{{.Name}} {{.State.StartedAt}}'"
    )
    return dict(row.lstrip("/").split() for row in rows.splitlines())


def belongings(host: str) -> str:
    """Return what a teardown must leave as it is."""
    return on(host).read(
        "docker images --quiet --no-trunc | sort; docker volume ls --quiet | sort; ls -lR /models"
    )


@pytest.fixture(scope="module", autouse=True)
def _stranger() -> Iterator[None]:
    """Run a container that is not the cluster's on each host."""
    for host in HOSTS:
        image = on(host).read("docker images --quiet | head -1")
        on(host).read(f"docker run --detach --name {STRANGER} --entrypoint sleep {image} 3600")
    yield
    for host in HOSTS:
        on(host).read(f"docker rm --force {STRANGER}")


def test_down_and_up() -> None:
    result("deploy")
    record = json.loads((CLUSTER / "record.json").read_text())
    strangers = {host: running(host)[STRANGER] for host in HOSTS}
    before = {host: running(host) for host in HOSTS}

    result("stop", "--check")
    assert {host: running(host) for host in HOSTS} == before

    assert result("stop")["changed"] == 3
    assert verdict() == "stopped"
    assert result("stop")["changed"] == 0
    assert all(set(running(host)) == {STRANGER} for host in HOSTS)

    assert result("start")["changed"] == 3
    assert verdict() == "serving"
    started = {host: running(host) for host in HOSTS}
    assert result("start")["changed"] == 0

    result("restart")
    assert verdict() == "serving"
    again = {host: running(host) for host in HOSTS}
    assert again["node0"]["lab-vllm"] > again["node1"]["lab-ray"] > again["node0"]["lab-ray"]
    assert again["node0"]["lab-ray"] > started["node0"]["lab-vllm"]
    assert {host: running(host)[STRANGER] for host in HOSTS} == strangers
    with Load(record) as load:
        wait_for(lambda: load.right_since(0), 60, "no right answers after the restart")
    few = ("--requests", "4", "--tokens", "8")
    done = samewire("bench", "-i", INVENTORY, "--vllm", *few, "--json", "--", "--request-rate", "8")
    assert json.loads(done.stdout)["completed"] == 4, done.stderr


def test_teardown() -> None:
    result("deploy")
    before = {host: belongings(host) for host in HOSTS}

    asked = samewire("teardown", "-i", INVENTORY)
    assert asked.returncode != 0
    assert verdict() == "serving"

    assert result("teardown", "--yes")["changed"] != 0
    assert verdict() == "absent"
    for host in HOSTS:
        assert set(running(host)) == {STRANGER}
        assert belongings(host) == before[host]
        assert on(host).run("test -e /root/.samewire/lab").returncode == 1
        assert on(host).run("nft list table inet samewire_lab").returncode != 0
    assert not [
        name for name in ("plan.json", "record.json", "api_key") if (CLUSTER / name).exists()
    ]
    assert result("teardown", "--yes")["changed"] == 0
