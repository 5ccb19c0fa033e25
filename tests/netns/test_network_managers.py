# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The fabric's addresses by netplan, NetworkManager and ifupdown as they run on real hosts."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.netns.booted import PATIENCE, Booted, booted
from tests.netns.segment import INTERFACE, Segment

LINKS = [{"interface": INTERFACE, "address": "10.99.0.1/24", "mtu": 9000}]
OTHER = [{"interface": INTERFACE, "address": "fd99::1/64"}]
RECORD = "/etc/samewire/network_setup.json"
PROFILE = f"/etc/NetworkManager/system-connections/samewire-{INTERFACE}.nmconnection"


@dataclass(frozen=True)
class Manager:
    """A way to set up interfaces: its programs, what runs, what is in /etc, and the file that we add."""

    name: str
    programs: Sequence[str]
    services: Sequence[str]
    ours: str
    files: dict[str, str] = field(default_factory=dict)


EMPTY = {"/etc/network/interfaces": "", "/etc/netplan/.none": ""}
MANAGERS = {
    "netplan with networkd": Manager(
        "netplan",
        ("netplan", "networkctl"),
        ("dbus.service", "systemd-networkd.service"),
        "/etc/netplan/60-samewire.yaml",
        {**EMPTY, "/etc/netplan/10-base.yaml": "network:\n  version: 2\n"},
    ),
    "NetworkManager": Manager(
        "NetworkManager", ("nmcli",), ("dbus.service", "NetworkManager.service"), PROFILE, EMPTY
    ),
    "ifupdown": Manager(
        "ifupdown",
        ("ifup",),
        ("dbus.service",),
        "/etc/network/interfaces.d/samewire",
        {**EMPTY, "/etc/network/interfaces": "source /etc/network/interfaces.d/*\n"},
    ),
}


class Host:
    """A host with that manager, whose fabric another host is on, too."""

    def __init__(self, manager: Manager, on: Booted, segment: Segment) -> None:
        self.manager, self.on, self.segment = manager, on, segment

    def changes(self, links: Sequence[dict[str, Any]], **arguments: Any) -> bool:
        said = self.setup(links, **arguments)
        assert "changed" in said, said
        return bool(said["changed"])

    def setup(self, links: Sequence[dict[str, Any]], **arguments: Any) -> dict[str, Any]:
        return self.on.module(
            "network_setup", host="node0", manager=self.manager.name, links=links, **arguments
        )

    def facts(self) -> dict[str, Any]:
        return dict(self.on.module("network_setup_info", interfaces=[INTERFACE])["facts"])

    def await_fabric(self, mtu: int, addresses: list[str]) -> None:
        """Wait until the fabric has them: networkd is not through when netplan is."""
        deadline = time.monotonic() + PATIENCE
        while (found := self._fabric()) != (mtu, addresses):
            assert time.monotonic() < deadline, found
            time.sleep(0.1)

    def _fabric(self) -> tuple[int, list[str]]:
        (link,) = json.loads(self.on.read("ip", "-json", "address", "show", INTERFACE))
        return link["mtu"], [
            f"{each['local']}/{each['prefixlen']}"
            for each in link["addr_info"]
            if each["scope"] == "global"
        ]

    def has_file(self) -> bool:
        return self.on.run("test", "-e", self.manager.ours).returncode == 0


@pytest.fixture(params=MANAGERS)
def host(request: pytest.FixtureRequest, segment: Segment, tmp_path: Path) -> Iterator[Host]:
    manager = MANAGERS[request.param]
    programs = ("nsenter", "unshare", "ping", *manager.programs)
    missing = [each for each in programs if shutil.which(each) is None]
    if missing or not Path("/lib/systemd/systemd").exists():
        pytest.skip(f"not installed: {', '.join(missing or ['systemd'])}")
    for name in ("node0", "node1"):
        segment.host(name, mtu=9000)
        segment.ip(segment.full(name), f"address flush dev {INTERFACE}")
    segment.ip(segment.full("node0"), f"link set {INTERFACE} mtu 1500")
    segment.ip(segment.full("node1"), f"address add 10.99.0.2/24 dev {INTERFACE}")
    with booted(segment.full("node0"), manager.services, manager.files, tmp_path) as on:
        yield Host(manager, on, segment)


def test_there_and_back(host: Host) -> None:
    facts = host.facts()
    assert (facts["manager"], facts["owners"], facts["problems"]) == (host.manager.name, {}, [])

    # What nobody confirms is taken back.
    assert host.changes(LINKS, rollback=15)
    host.await_fabric(9000, ["10.99.0.1/24"])
    assert host.has_file()
    host.await_fabric(1500, [])
    assert not host.has_file()

    # What is confirmed stays, and carries full packets.
    key = host.setup(LINKS)["key"]
    host.await_fabric(9000, ["10.99.0.1/24"])
    target = {"host": "node1", "address": "10.99.0.2", "interface": INTERFACE}
    deadline = time.monotonic() + PATIENCE
    while host.on.module("network_setup_ping", host="node0", targets=[target])["problems"]:
        assert time.monotonic() < deadline
    assert not host.changes([], state="confirmed", key=key)
    assert not host.changes(LINKS)
    facts = host.facts()
    assert (facts["owners"], facts["made"]) == ({}, {INTERFACE: ["10.99.0.1/24"]})
    assert host.on.read("stat", "-c", "%a %U", host.manager.ours) == "600 root\n"

    # Another address takes its place, and is taken back to it.
    assert host.changes(OTHER, rollback=15)
    host.await_fabric(1500, ["fd99::1/64"])
    host.await_fabric(9000, ["10.99.0.1/24"])
    assert not host.changes(LINKS)

    assert host.changes([], state="absent")
    host.await_fabric(1500, [])
    assert not host.has_file()
    assert not host.changes([], state="absent")
    assert host.on.run("test", "-e", RECORD).returncode == 1


OWNERS = {
    "/etc/netplan/20-own.yaml": (
        "network:\n  version: 2\n  ethernets:\n"
        f"    all: {{match: {{name: '{INTERFACE[:3]}*'}}, dhcp4: true}}\n",
        "netplan, /run/systemd/network/10-netplan-all.network",
    ),
    "/etc/systemd/network/own.network": (
        f"[Match]\nName={INTERFACE}\n",
        "/etc/systemd/network/own.network",
    ),
}


@pytest.mark.parametrize("path", OWNERS)
@pytest.mark.parametrize("host", ["netplan with networkd"], indirect=True)
def test_a_file_of_somebody_else(host: Host, path: str) -> None:
    text, owner = OWNERS[path]
    assert host.on.run("tee", path, given=text).returncode == 0
    assert host.facts()["owners"] == {INTERFACE: owner}


@pytest.mark.parametrize("host", ["netplan with networkd"], indirect=True)
def test_files_that_netplan_does_not_take(host: Host) -> None:
    assert host.on.run("tee", "/etc/netplan/20-own.yaml", given="network: [1]\n").returncode == 0
    (problem,) = host.facts()["problems"]
    assert problem.startswith("netplan cannot read its files (")
    assert problem.endswith("), expected files that netplan generate takes; correct them")
    # A change that comes all the same is taken back at once.
    said = host.setup(LINKS)
    assert said["msg"].startswith("node0: netplan generate failed (")
    assert not host.has_file()
    host.await_fabric(1500, [])
    assert host.setup(LINKS)["msg"].startswith("node0: netplan generate failed (")
