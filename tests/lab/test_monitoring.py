# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A cluster that Prometheus watches: all that there is to ask answers, also after Ray has started anew."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from samewire_lab.waiting import wait_for
from tests.lab.driver import INVENTORY, PLAIN, ROOT, samewire
from tests.lab.shell import on

HOSTS = ("node0", "node1")
FOLDER = "/etc/samewire-monitoring/lab"
NODES = {("samewire-node", host) for host in HOSTS}
RAY = {("samewire-ray", host) for host in HOSTS}
PAUSE = 3.0  # Each look starts programs on both hosts.
ALL = {("samewire-vllm", "node0"), *NODES, *RAY}

pytestmark = pytest.mark.heals


def play(*arguments: str) -> set[str]:
    """Run the playbook; return how much it changed on each host."""
    done = subprocess.run(
        ["ansible-playbook", "-i", INVENTORY, "playbooks/monitoring.yml", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=PLAIN,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return set(re.findall(r"^node\d .*(changed=\d+)", done.stdout, re.MULTILINE))


def start(host: str, *scripts: str) -> None:
    """Start programs as the playbook says, which here nobody else does."""
    for script in scripts:
        on(host).read(
            f"setsid -f runuser -u prometheus {FOLDER}/{script} </dev/null >/dev/null 2>&1"
        )


def collect() -> None:
    """Look once at each host, the one of Prometheus last; the lab has no cron."""
    for host in reversed(HOSTS):
        on(host).read(f"python3 -I {FOLDER}/collect.py {FOLDER}/collect.json")


def targets() -> dict[tuple[str, str], dict[str, Any]]:
    """Return whom Prometheus asks, by job and host."""
    said = on("node0").run("curl -s http://127.0.0.1:9090/api/v1/targets").stdout or "{}"
    found = json.loads(said).get("data", {}).get("activeTargets", [])
    return {(each["labels"]["job"], each["labels"]["host"]): each for each in found}


def all_answer() -> bool:
    time.sleep(PAUSE)
    collect()
    return {key for key, each in targets().items() if each["health"] == "up"} == ALL


def query(expression: str) -> list[dict[str, Any]]:
    said = on("node0").read(
        f"curl -sG http://127.0.0.1:9090/api/v1/query --data-urlencode 'query={expression}'"
    )
    return list(json.loads(said)["data"]["result"])


@pytest.fixture(scope="module")
def watched() -> Iterator[None]:
    done = samewire("deploy", "-i", INVENTORY)
    assert done.returncode == 0, done.stdout + done.stderr
    assert play() != {"changed=0"}
    start("node0", "node-exporter.sh", "prometheus.sh")
    start("node1", "node-exporter.sh")
    wait_for(all_answer, 120, "Not all that Prometheus asks answers")
    yield
    for host in HOSTS:
        on(host).run("pkill -u prometheus")
    assert play("-e", "monitoring_state=absent") != {"changed=0"}
    assert play("-e", "monitoring_state=absent") == {"changed=0"}
    for host in HOSTS:
        left = on(host).read("find /etc /run /var/lib/prometheus/node-exporter -name '*samewire*'")
        # The firewall's folder, and what the lab itself has there.
        assert set(left.split()) <= {"/etc/samewire", "/etc/samewire-lab"}


@pytest.mark.usefixtures("watched")
def test_again_it_changes_nothing() -> None:
    assert play() == {"changed=0"}
    assert play("--check") == {"changed=0"}


@pytest.mark.usefixtures("watched")
def test_only_the_head_itself_and_the_interconnect_are_listened_on() -> None:
    for host, address in (("node0", "10.213.2.12"), ("node1", "10.213.2.13")):
        lines = on(host).read("ss -Hltn").splitlines()
        bound = {line.split()[3] for line in lines if re.search(r":9[01][09]0$", line.split()[3])}
        assert bound == {f"{address}:9100", *(["127.0.0.1:9090"] if host == "node0" else [])}
    assert on("node0").read(f"stat -c '%U %a' {FOLDER}/api_key") == "prometheus 600"


@pytest.mark.usefixtures("watched")
def test_what_only_samewire_knows_is_there() -> None:
    (transport,) = {each["metric"]["transport"] for each in query("samewire_planned_transport")}
    assert transport == "socket"
    present = query("samewire_interconnect_address_present == 1")
    assert {each["metric"]["host"] for each in present} == set(HOSTS)
    running = query("samewire_container_running == 1")
    parts = {(each["metric"]["host"], each["metric"]["part"]) for each in running}
    assert parts == {("node0", "ray"), ("node0", "vllm"), ("node1", "ray")}
    assert query('ALERTS{alertstate="firing"}') == []


@pytest.mark.usefixtures("watched")
def test_ray_is_found_again_after_it_has_started_anew() -> None:
    before = targets()["samewire-ray", "node1"]["scrapeUrl"]
    on("node1").read("docker restart lab-ray")

    def found() -> bool:
        return all_answer() and targets()["samewire-ray", "node1"]["scrapeUrl"] != before

    wait_for(found, 300, "Ray's exporter on node1 was not found again")
