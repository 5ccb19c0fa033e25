# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The firewall of a cluster with the kernel's own nftables: who reaches what, and what is left alone."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.netns.cluster import cluster
from tests.netns.segment import INTERFACE, Segment

CLUSTER = f"swt{os.getpid()}"
FABRIC, MANAGEMENT = "10.77.0.1", "10.88.1.1"
GCS, API, WORKER, FREE, OTHER, OPENED = 6379, 8000, 10002, 40123, 9100, 11000
PORTS = (GCS, API, WORKER, FREE, OTHER, OPENED)

LISTEN = """
import socket, sys
listening = [socket.create_server(("::", int(port)), family=socket.AF_INET6, dualstack_ipv6=True)
             for port in sys.argv[1:]]
print("listening", flush=True)
sys.stdin.read()
"""
CONNECT = """
import json, socket, sys
said = {}
for port in sys.argv[2:]:
    try:
        socket.create_connection((sys.argv[1], int(port)), 5).close()
        said[port] = "open"
    except OSError as error:
        said[port] = type(error).__name__
print(json.dumps(said))
"""
# Linux tells by TIOCOUTQ what the other side has not acknowledged.
STANDING = """
import fcntl, socket, struct, sys, termios, time
standing = socket.create_connection((sys.argv[1], int(sys.argv[2])))
print("connected", flush=True)
sys.stdin.readline()
standing.sendall(b"more")
deadline = time.monotonic() + 5
while struct.unpack("i", fcntl.ioctl(standing, termios.TIOCOUTQ, bytes(4)))[0]:
    if time.monotonic() > deadline:
        sys.exit("not acknowledged")
    time.sleep(0.01)
print("delivered")
"""


def nft(segment: Segment, *words: str, text: str | None = None) -> str:
    return subprocess.run(
        ["ip", "netns", "exec", segment.full("node0"), "nft", *words],
        check=True,
        capture_output=True,
        text=True,
        input=text,
    ).stdout


def reached(segment: Segment, source: str, address: str) -> set[int]:
    """Return the ports of node0 that answer; the others refuse at once, as closed ones do."""
    argv = ["ip", "netns", "exec", segment.full(source), sys.executable, "-c", CONNECT, address]
    done = subprocess.run([*argv, *map(str, PORTS)], check=True, capture_output=True, text=True)
    said = json.loads(done.stdout)
    assert set(said.values()) <= {"open", "ConnectionRefusedError"}
    return {int(port) for port, how in said.items() if how == "open"}


def firewall(segment: Segment, **changes: Any) -> dict[str, Any]:
    wanted: dict[str, Any] = {
        "cluster": CLUSTER,
        "host": "node0",
        "interface": INTERFACE,
        "members": [segment.hosts["node0"], segment.hosts["node1"]],
        "ports": [GCS],
        "api_port": API,
        "open_ports": [str(OPENED)],
    }
    return segment.module("node0", "cluster_firewall", **{**wanted, **changes})


@pytest.fixture
def host(segment: Segment, nft: None) -> Iterator[Segment]:
    """node0 listens; node1 is a member, node2 a stranger on the fabric, away one on management."""
    for name in ("node0", "node1", "node2"):
        segment.host(name)
    away = segment.namespace("away")
    segment.join(segment.full("node0"), "management", away, "10.88.1")
    segment.ip(away, f"route add {FABRIC} via {MANAGEMENT}")
    argv = ["ip", "netns", "exec", segment.full("node0"), sys.executable, "-c", LISTEN]
    with subprocess.Popen(
        [*argv, *map(str, PORTS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as listener:
        assert listener.stdout is not None
        assert listener.stdout.readline() == "listening\n"
        try:
            yield segment
        finally:
            segment.module(
                "node0", "cluster_firewall", cluster=CLUSTER, host="node0", state="absent"
            )
            listener.communicate()


def test_who_reaches_what(host: Segment) -> None:
    everything = set(PORTS)
    assert reached(host, "away", MANAGEMENT) == everything
    assert firewall(host)["changed"]
    assert reached(host, "node1", FABRIC) == everything
    assert reached(host, "node0", FABRIC) == everything
    # Also to the address of the interconnect, which Linux answers for on every interface.
    for stranger, address in (("node2", FABRIC), ("away", FABRIC), ("away", MANAGEMENT)):
        assert reached(host, stranger, address) == {API, OTHER, OPENED}
    # A member's address on another wire is no member.
    host.ip(host.full("away"), "address add 10.77.0.2/32 dev lo")
    assert reached(host, "away", MANAGEMENT) == {API, OTHER, OPENED}


def test_ipv6_is_no_way_around(host: Segment) -> None:
    host.ip(host.full("node0"), "address add fd77::1/64 dev management nodad")
    host.ip(host.full("away"), "address add fd77::2/64 dev to1 nodad")
    assert reached(host, "away", "fd77::1") == set(PORTS)
    firewall(host)
    assert reached(host, "away", "fd77::1") == {API, OTHER, OPENED}


def test_clients_and_trusted(host: Segment) -> None:
    firewall(host, api_clients=["10.77.0.3"])
    assert reached(host, "away", MANAGEMENT) == {OTHER, OPENED}
    assert reached(host, "node2", FABRIC) == {API, OTHER, OPENED}
    firewall(host, trusted=["10.88.1.0/24"])
    assert reached(host, "away", MANAGEMENT) == set(PORTS)


def test_a_connection_that_stands_is_not_cut(host: Segment) -> None:
    argv = ["ip", "netns", "exec", host.full("away"), sys.executable, "-c", STANDING]
    with subprocess.Popen(
        [*argv, MANAGEMENT, str(GCS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as standing:
        assert standing.stdout is not None
        assert standing.stdout.readline() == "connected\n"
        firewall(host)
        assert GCS not in reached(host, "away", MANAGEMENT)
        assert standing.communicate("\n")[0] == "delivered\n"


def test_a_second_run_changes_nothing_and_other_tables_stay(host: Segment) -> None:
    other = "table ip other {\n\tchain c {\n\t\ttcp dport 22 accept\n\t}\n}\n"
    nft(host, "-f", "-", text=other)
    assert firewall(host)["changed"]
    again = firewall(host)
    assert (again["changed"], again["diff"]) == (False, {})
    changed = firewall(host, open_ports=[])
    assert changed["changed"]
    assert f"\t\ttcp dport {{ {OPENED} }} accept\n" in changed["diff"]["before"]
    assert f"{OPENED}" not in changed["diff"]["after"]
    assert nft(host, "list", "table", "ip", "other") == other
    absent = {"cluster": CLUSTER, "host": "node0", "state": "absent"}
    assert host.module("node0", "cluster_firewall", **absent)["changed"]
    assert not host.module("node0", "cluster_firewall", **absent)["changed"]
    assert nft(host, "list", "ruleset") == other
    assert list(pathlib.Path("/etc/samewire").glob(f"{CLUSTER}*")) == []


def test_the_rules_of_before_come_back_where_a_change_fails(host: Segment) -> None:
    def after(state: str) -> tuple[bool, bool]:
        said = host.module("node0", "cluster_firewall", cluster=CLUSTER, host="node0", state=state)
        return said["changed"], said["kept"]

    assert not firewall(host)["kept"]
    assert after("restored") == (False, False)
    # A second change that fails is taken back to what was proven, not to the first.
    assert firewall(host, api_port=OTHER, api_clients=["10.77.0.3"])["kept"]
    assert firewall(host, api_port=FREE)["kept"]
    assert reached(host, "away", MANAGEMENT) == {API, OTHER, OPENED, FREE}
    assert after("restored") == (True, False)
    assert reached(host, "away", MANAGEMENT) == {API, OTHER, OPENED}
    assert not firewall(host)["changed"]
    assert firewall(host, open_ports=[])["kept"]
    assert after("settled") == (True, False)
    assert after("restored") == (False, False)
    assert reached(host, "away", MANAGEMENT) == {API, OTHER}


def stands(segment: Segment) -> bool | None:
    """Return what a look at the host says of the firewall."""
    look = segment.module("node0", "cluster_status", cluster=CLUSTER, directory="/nowhere")
    found: bool | None = look["node"]["firewall"]
    return found


def test_what_somebody_else_did_to_the_table_is_seen_and_undone(host: Segment) -> None:
    assert stands(host) is None
    firewall(host)
    assert stands(host) is True
    nft(host, "flush", "chain", "inet", f"samewire_{CLUSTER}", "input")
    assert stands(host) is False
    assert reached(host, "away", MANAGEMENT) == set(PORTS)
    assert firewall(host)["changed"]
    nft(host, "delete", "table", "inet", f"samewire_{CLUSTER}")
    assert stands(host) is False
    assert firewall(host)["changed"]
    assert reached(host, "away", MANAGEMENT) == {API, OTHER, OPENED}


PLAY = [
    {
        "name": "Firewall",
        "hosts": "node0",
        "gather_facts": False,
        "roles": [
            {
                "role": "samewire.vllm.firewall",
                "vars": {
                    "firewall_cluster": CLUSTER,
                    "firewall_plan": {
                        "hosts": {"node0": {"interface": INTERFACE, "address": FABRIC}}
                    },
                    "firewall_ports": [GCS],
                    "firewall_api_port": API,
                },
            }
        ],
    }
]


def test_the_role_tells_the_truth_before_it_changes_anything(
    can_make_namespaces: None, nft: None
) -> None:
    with cluster(1) as one:
        (one.folder / "firewall.yml").write_text(json.dumps(PLAY))

        def changed(enabled: bool, *arguments: str) -> str:
            extra = json.dumps({"firewall_enabled": enabled})
            done = one.run("playbook", "firewall.yml", "-e", extra, *arguments)
            assert done.returncode == 0, done.stdout
            return done.stdout.partition("changed=")[2].split()[0]

        try:
            runs = [
                *((True, "--check"), (True,), (True,), (True, "--check")),
                *((False, "--check"), (False,), (False,)),
            ]
            assert [changed(*run) for run in runs] == ["1", "1", "0", "0", "1", "1", "0"]
        finally:
            changed(False)
