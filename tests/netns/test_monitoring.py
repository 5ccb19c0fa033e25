# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The monitoring of a host that systemd boots: Debian's own units, on other addresses, and back."""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.netns.booted import PATIENCE, Booted, booted
from tests.netns.segment import INTERFACE, Segment
from tests.unit.modules import ROOT

CLUSTER = "pair"
FOLDER = Path("/etc/samewire-monitoring") / CLUSTER
PLAN = {
    "schema": "samewire.plan/1",
    "cluster": CLUSTER,
    "transport": "socket",
    "hosts": {"node0": {"address": "10.77.0.1", "interface": INTERFACE, "hcas": []}},
}
INVENTORY = {
    "ray_head": {
        "hosts": {
            "node0": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        },
        "vars": {
            "cluster_name": CLUSTER,
            "container_image_name": "localhost/vllm:none",
            "vllm_server_model": "/models/none",
        },
    }
}
# systemd cannot shut its services in any further where it is shut in itself.
OPEN = "[Service]\n" + "".join(
    f"{each}=no\n"
    for each in (
        *("PrivateDevices", "PrivateTmp", "PrivateUsers", "ProtectControlGroups", "ProtectHome"),
        *("ProtectKernelModules", "ProtectKernelTunables", "ProtectSystem", "RestrictNamespaces"),
    )
)
FILES = {
    "/etc/systemd/system/prometheus.service.d/open.conf": OPEN,
    "/etc/systemd/system/samewire-pair-monitoring.service.d/open.conf": OPEN + "ReadWritePaths=\n",
    "/root/.samewire/clusters/pair/plan.json": json.dumps(PLAN),
    "/root/.samewire/clusters/pair/record.json": json.dumps({"executor": "ray"}),
    "/root/.samewire/pair/secrets/vllm_api_key": "c0ffee\n",
    "/root/inventory.json": json.dumps(INVENTORY),
}


@pytest.fixture
def host(segment: Segment, tmp_path: Path) -> Iterator[Booted]:
    programs = ("nsenter", "unshare", "prometheus", "prometheus-node-exporter", "promtool", "ss")
    missing = [each for each in programs if shutil.which(each) is None]
    if missing or not Path("/lib/systemd/systemd").exists():
        pytest.skip(f"not installed: {', '.join(missing or ['systemd'])}")
    with booted(segment.host("node0"), ["dbus.service"], FILES, tmp_path) as on:
        yield on


def play(on: Booted, *arguments: str) -> str:
    """Run the playbook on the host itself; return how much it changed."""
    environment = ("HOME=/root", "LC_ALL=C.UTF-8", f"ANSIBLE_CONFIG={ROOT}/ansible.cfg")
    argv = [sys.executable, "-m", "ansible", "playbook", "-i", "/root/inventory.json"]
    done = on.run("env", *environment, *argv, f"{ROOT}/playbooks/monitoring.yml", *arguments)
    ended = r"^node0 +: ok=\d+ +(changed=\d+) +unreachable=0 +failed=0"
    recap = re.search(ended, done.stdout, re.MULTILINE)
    assert recap, done.stdout + done.stderr
    return recap[1]


def listening(on: Booted) -> set[str]:
    """Return where the two programs listen."""
    lines = on.read("ss", "-Hltn").splitlines()
    return {line.split()[3] for line in lines if line.split()[3].endswith((":9090", ":9100"))}


def await_listening(on: Booted, wanted: set[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while (found := listening(on)) != wanted:
        assert time.monotonic() < deadline, (
            found,
            on.run("systemctl", "status", "prometheus*").stdout,
        )
        time.sleep(0.5)


def collected(on: Booted) -> str:
    """Return what the collector's timer brings to the node exporter."""
    script = "import urllib.request; print(urllib.request.urlopen('http://10.77.0.1:9100/metrics').read().decode())"
    deadline = time.monotonic() + PATIENCE
    while "samewire_interconnect" not in (said := on.read(sys.executable, "-c", script)):
        assert time.monotonic() < deadline, on.run("systemctl", "status", "samewire-*").stdout
        time.sleep(0.5)
    return said


def test_there_and_back(host: Booted) -> None:
    assert play(host, "--check") != "changed=0"
    assert host.run("test", "-e", str(FOLDER)).returncode == 1

    assert play(host) != "changed=0"
    await_listening(host, {"10.77.0.1:9100", "127.0.0.1:9090"})
    labels = f'address="10.77.0.1",cluster="pair",host="node0",interface="{INTERFACE}"'
    assert f"samewire_interconnect_address_present{{{labels}}} 1" in collected(host).splitlines()
    assert host.read("stat", "-c", "%U %a", f"{FOLDER}/api_key") == "prometheus 600\n"

    assert play(host) == "changed=0"
    assert play(host, "--check") == "changed=0"

    # What was installed before stays, as its package starts it.
    assert play(host, "-e", "monitoring_state=absent") != "changed=0"
    await_listening(host, {"*:9090", "*:9100"})
    folders = ("/etc", "/run", "/var/lib/prometheus/node-exporter")
    left = host.read("find", *folders, "-name", "*samewire*").splitlines()
    # What this test has put there.
    units = ("samewire-pair-monitoring.service.d", "samewire-test.target")
    assert set(left) <= {f"/etc/systemd/system/{unit}" for unit in units}
    assert play(host, "-e", "monitoring_state=absent") == "changed=0"
