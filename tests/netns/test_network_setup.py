# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The fabric's addresses on hosts that Ansible reaches by ssh, and what takes them back."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.filter.cluster_plan import cluster_plan
from tests.netns.cluster import Cluster, cluster, sshd
from tests.netns.segment import INTERFACE

SETUP = ("playbook", "samewire.vllm.network_setup")
LINKS = "interconnect_network_setup_links"
# Longer than what a run takes between the change and the confirmation.
PATIENCE = 40.0


class Hosts:
    """Two hosts whose fabric has no address yet, each with files of its own below /etc."""

    def __init__(self, of: Cluster) -> None:
        self.of = of
        self.names = tuple(of.segment.hosts)

    def links(self, **changes: Any) -> dict[str, Any]:
        return {
            name: [{"interface": INTERFACE, "address": f"10.99.0.{n}/24", "mtu": 9000, **changes}]
            for n, name in enumerate(self.names, 1)
        }

    def start(
        self, links: dict[str, Any], *arguments: str, **variables: Any
    ) -> subprocess.Popen[str]:
        file = self.of.folder / "inventory.json"
        inventory = json.loads(file.read_text())
        for group in inventory["all"]["children"].values():
            for name, host in group["hosts"].items():
                host[LINKS] = links[name]
        file.write_text(json.dumps(inventory))
        given = {f"interconnect_network_setup_{name}": value for name, value in variables.items()}
        return self.of.start(*SETUP, "-e", json.dumps(given), *arguments)

    def setup(self, links: dict[str, Any], *arguments: str, **variables: Any) -> tuple[int, str]:
        """Run the playbook, and return its exit code and what it said."""
        with self.start(links, *arguments, **variables) as running:
            said = running.communicate()[0]
        return running.returncode, said

    def fabric(self, name: str) -> tuple[int, list[str]]:
        """Return the MTU of a host's fabric and its addresses, but those that are link-local."""
        done = subprocess.run(
            ["ip", "-n", self.of.segment.full(name), "-j", "address", "show", INTERFACE],
            check=True,
            capture_output=True,
        )
        (link,) = json.loads(done.stdout)
        return link["mtu"], [
            f"{each['local']}/{each['prefixlen']}"
            for each in link["addr_info"]
            if each["scope"] == "global"
        ]

    def file(self, name: str, path: str) -> Path:
        return Path("/etc/netns") / self.of.segment.full(name) / path

    def await_fabric(self, name: str, wanted: tuple[int, list[str]]) -> None:
        deadline = time.monotonic() + PATIENCE
        while self.fabric(name) != wanted:
            assert time.monotonic() < deadline, self.fabric(name)
            time.sleep(0.1)


@contextlib.contextmanager
def etc(folders: dict[str, dict[str, str]]) -> Iterator[Callable[[str], None]]:
    """Give hosts folders of their own below /etc, which `ip netns exec` puts in their places."""
    missing = [Path("/etc") / name for name in folders if not Path("/etc", name).exists()]
    made: list[Path] = []

    def furnish(namespace: str) -> None:
        root = Path("/etc/netns") / namespace
        made.append(root)
        for folder, files in folders.items():
            (root / folder).mkdir(parents=True)
            for name, text in files.items():
                (root / folder / name).parent.mkdir(exist_ok=True)
                (root / folder / name).write_text(text)

    for each in missing:
        each.mkdir()
    try:
        yield furnish
    finally:
        for root in made:
            shutil.rmtree(root)
        for each in missing:
            each.rmdir()


@pytest.fixture(scope="module")
def hosts(can_make_namespaces: None) -> Iterator[Hosts]:
    if sshd() is None or shutil.which("ping") is None:
        pytest.skip("openssh-server or iputils-ping is not installed")
    # What the machine of the tests has there says nothing about its hosts.
    bare = {"samewire": {}, "netplan": {}, "network": {}}
    with etc(bare) as furnish, cluster(2, furnish) as each:
        for name, address in each.segment.hosts.items():
            each.segment.ip(each.segment.full(name), f"address delete {address}/24 dev {INTERFACE}")
            each.segment.ip(each.segment.full(name), f"link set {INTERFACE} mtu 1500")
        yield Hosts(each)


@pytest.fixture(autouse=True)
def _as_before(hosts: Hosts) -> Iterator[None]:
    yield
    for name in hosts.names:
        hosts.await_fabric(name, BEFORE)


BEFORE: tuple[int, list[str]] = (1500, [])
ABSENT = {"state": "absent"}


def changed(done: tuple[int, str]) -> list[int]:
    """Return how much was changed on each host of a run that ends well."""
    code, said = done
    assert code == 0, said
    recap = said.rpartition("PLAY RECAP")[2].splitlines()
    return [int(line.partition("changed=")[2].split()[0]) for line in recap if "node" in line]


def test_the_plan_finds_the_network_that_was_made(hosts: Hosts) -> None:
    for check in (True, False):
        done = hosts.setup(hosts.links(), *(["--check", "--diff"] if check else []))
        assert changed(done) == [1, 1]
        if check:
            assert [hosts.fabric(name) for name in hosts.names] == [BEFORE, BEFORE]
            assert "+fabric mtu 9000 10.99.0.2/24" in done[1]
    assert "node0: neither netplan, NetworkManager nor ifupdown manages" in done[1]
    assert [hosts.fabric(name) for name in hosts.names] == [
        (9000, ["10.99.0.1/24"]),
        (9000, ["10.99.0.2/24"]),
    ]
    facts = {
        name: hosts.of.segment.module(name, "interconnect_info")["facts"] for name in hosts.names
    }
    plan = cluster_plan(facts)
    assert plan["network"]["cidr"] == "10.99.0.0/24"
    assert plan["hosts"]["node1"]["address"] == "10.99.0.2"
    assert changed(hosts.setup(hosts.links())) == [0, 0]
    assert changed(hosts.setup(hosts.links(), **ABSENT)) == [1, 1]
    assert [hosts.fabric(name) for name in hosts.names] == [BEFORE, BEFORE]
    assert changed(hosts.setup(hosts.links(), **ABSENT)) == [0, 0]


def test_what_was_there_before_stays(hosts: Hosts) -> None:
    own = "10.98.0.1/24"
    hosts.of.segment.ip(hosts.of.segment.full("node0"), f"address add {own} dev {INTERFACE}")
    changed(hosts.setup(hosts.links()))
    assert hosts.fabric("node0") == (9000, [own, "10.99.0.1/24"])
    # Another address takes the place of the first, and the MTU is let go.
    links = {
        name: [{"interface": INTERFACE, "address": f"fd99::{n}/64"}]
        for n, name in enumerate(hosts.names, 1)
    }
    assert changed(hosts.setup(links)) == [1, 1]
    assert hosts.fabric("node0") == (1500, [own, "fd99::1/64"])
    changed(hosts.setup(links, **ABSENT))
    assert hosts.fabric("node0") == (1500, [own])
    hosts.of.segment.ip(hosts.of.segment.full("node0"), f"address delete {own} dev {INTERFACE}")


def test_a_switch_that_drops_full_packets(hosts: Hosts) -> None:
    segment = hosts.of.segment
    segment.ip(segment.switch, f"link set {segment.port_of('node1')} mtu 1500")
    try:
        code, said = hosts.setup(hosts.links(), rollback=30)
    finally:
        segment.ip(segment.switch, f"link set {segment.port_of('node1')} mtu 9000")
    assert code == 2
    assert (
        "node0 to node1: 10.99.0.2 does not answer to a packet of 9000 bytes over fabric (no answer in 3 "
        "s), expected an answer; check the cables, the MTU of the switch and that no firewall drops ICMP"
    ) in said
    assert (
        "nothing was confirmed: 30 s after the change every host takes it back by itself"
    ) in said


def test_a_controller_that_is_lost(hosts: Hosts) -> None:
    segment = hosts.of.segment
    with hosts.start(hosts.links(), rollback=30) as running:
        hosts.await_fabric("node1", (9000, ["10.99.0.2/24"]))
        segment.ip(segment.full("node1"), "link set management down")
        try:
            said = running.communicate()[0]
        finally:
            segment.ip(segment.full("node1"), "link set management up")
    assert running.returncode != 0
    assert "nothing was confirmed: 30 s after the change every host takes it back by itself" in said


def test_a_change_that_nobody_confirms(hosts: Hosts) -> None:
    def setup(**arguments: Any) -> dict[str, Any]:
        return hosts.of.segment.module("node0", "network_setup", host="node0", **arguments)

    links = hosts.links()["node0"]
    key = setup(links=links, rollback=8)["key"]
    assert hosts.fabric("node0") == (9000, ["10.99.0.1/24"])
    assert setup(links=links)["msg"] == (
        "node0: another run has changed the network and is not confirmed yet, expected none; wait until its "
        "time is over, and run it again"
    )
    assert setup(state="confirmed", key="0")["failed"]
    hosts.await_fabric("node0", BEFORE)
    assert setup(state="confirmed", key=key)["msg"] == (
        "node0: the change is not there any more, expected it to be confirmed in time; the host has what it "
        "had before, run it again with a longer interconnect_network_setup_rollback"
    )
    assert list(hosts.file("node0", "samewire").iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"interface": "management"},
            "management is the interface by which Ansible reaches the host (10.88.1.1), expected one of the "
            "fabric; name another one in interconnect_network_setup_links",
        ),
        (
            {"address": "10.88.1.7/16"},
            "10.88.0.0/16 of fabric overlaps 10.88.1.0/24, which the host reaches over management, expected "
            "a network that it does not know; choose another one in interconnect_network_setup_links",
        ),
        (
            {"mtu": 70000},
            "fabric would have MTU 70000, expected 68 to 65535, which the device can; correct it in "
            "interconnect_network_setup_links",
        ),
    ],
)
def test_what_is_refused_changes_nothing(
    hosts: Hosts, changes: dict[str, Any], message: str
) -> None:
    links = hosts.links()
    links["node0"][0] |= changes
    code, said = hosts.setup(links)
    assert code == 2
    assert f"node0: {message}" in said
    assert hosts.fabric("node1") == BEFORE
