# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The proof of the wire on real interfaces: what it says of each way in which a wire can be broken."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.filter.wire_verdict import wire_verdict
from tests.netns.segment import INTERFACE, Segment

RAY_PORT = 6379
NETWORK = "10.77.0.0/24"


def prove(
    segment: Segment,
    network: str = NETWORK,
    wrong_keys: Sequence[str] = (),
    unasked: Sequence[str] | None = None,
) -> dict[str, list[str]]:
    """Prove the wire as the role does; the first host is the head, and asks the others.

    wrong_keys: whom the head asks with another key than the right one; unasked: whom it must fail to ask,
    where that is what is tested.
    """
    hosts = segment.hosts
    head = next(iter(hosts))
    listening = segment.everywhere(
        "wire_proof",
        **{
            name: {
                "step": "listen",
                "address": address,
                "interface": INTERFACE,
                "ports": [RAY_PORT] if name == head else [],
                "port_ranges": ["10002-19999"],
                "seconds": 20,
            }
            for name, address in hosts.items()
        },
    )
    listeners = {name: result["listener"] for name, result in listening.items()}
    keys = {name: result["key"] for name, result in listening.items()}
    wrong = {name: "0" * len(keys[name]) for name in wrong_keys}
    probes = ask(segment, head, listeners, {**keys, **wrong})
    missing = [name for name in hosts if name not in probes]
    assert unasked is None or missing == list(unasked)
    for name in missing:
        probes |= ask(segment, name, listeners, {name: keys[name]})
    verdict = wire_verdict({"network": {"cidr": network}}, listeners, probes)
    if verdict["problems"] or missing:
        ends = {name: {"step": "end", "listeners": {name: listeners[name]}} for name in hosts}
        segment.everywhere("wire_proof", **ends)
    # The namespaces of one machine have one clock.
    offsets = [seconds for each in verdict["clock_offsets"].values() for seconds in each.values()]
    assert all(abs(seconds) < 0.5 for seconds in offsets)
    return {
        key: [_without_chance(sentence, listeners) for sentence in verdict[key]]
        for key in ("problems", "notes")
    }


def ask(
    segment: Segment, name: str, listeners: dict[str, Any], keys: dict[str, str]
) -> dict[str, Any]:
    found = segment.module(
        name, "wire_proof", step="ask", host=name, listeners=listeners, keys=keys
    )
    return dict(found["probes"])


def _without_chance(sentence: str, listeners: dict[str, Any]) -> str:
    """The port of the kernel's choice and MAC addresses differ from run to run."""
    for listener in listeners.values():
        for port in listener["ports"][:1]:
            sentence = re.sub(rf"\b{port['port']}\b", "EPHEMERAL", sentence)
    return re.sub(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}", "MAC", sentence)


@pytest.fixture
def pair(segment: Segment) -> Segment:
    segment.host("node0")
    segment.host("node1")
    return segment


@contextmanager
def listening(segment: Segment, name: str, address: str, port: int) -> Iterator[None]:
    """Let another program listen on a host, as Ray does on a running cluster."""
    program = (
        "import socket, sys; server = socket.create_server((sys.argv[1], int(sys.argv[2])));"
        "print('listens', flush=True);\nwhile True: server.accept()"
    )
    argv = [
        "ip",
        "netns",
        "exec",
        segment.full(name),
        sys.executable,
        "-c",
        program,
        address,
        str(port),
    ]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


def sockets_of(segment: Segment, name: str) -> str:
    shown = subprocess.run(
        ["ip", "netns", "exec", segment.full(name), "ss", "--no-header", "-ltnx"],
        check=True,
        capture_output=True,
        text=True,
    )
    return shown.stdout


def test_a_whole_wire_has_no_problem_and_nothing_stays(segment: Segment) -> None:
    for number in range(4):
        segment.host(f"node{number}", mtu=9000)
    assert prove(segment, unasked=()) == {"problems": [], "notes": []}
    assert [sockets_of(segment, name) for name in segment.hosts] == ["", "", "", ""]


def test_who_has_another_key_is_not_obeyed_and_does_no_harm(segment: Segment) -> None:
    for number in range(3):
        segment.host(f"node{number}")
    whole = {"problems": [], "notes": []}
    assert prove(segment, wrong_keys=["node1"], unasked=["node1"]) == whole
    assert [sockets_of(segment, name) for name in segment.hosts] == ["", "", ""]


def test_a_host_that_the_asking_one_cannot_reach(segment: Segment, firewall: None) -> None:
    for number in range(3):
        segment.host(f"node{number}")
    segment.iptables("node2", "-A INPUT -p tcp --syn -s 10.77.0.1 -j DROP")
    assert prove(segment, unasked=["node2"])["problems"] == [
        "node0 to node2: TCP to 10.77.0.3 ports EPHEMERAL and 10002 is not answered, expected a connection "
        "(the other direction works); most likely a firewall: allow TCP from 10.77.0.0/24 on node2"
    ]


def test_an_asking_host_that_nobody_can_reach(segment: Segment) -> None:
    for number in range(3):
        segment.host(f"node{number}")
    segment.ip(segment.switch, f"link set {segment.port_of('node0')} nomaster")
    assert prove(segment, unasked=["node1", "node2"])["problems"] == [
        f"{source} to {target}: nothing answers for {address} behind fabric, expected {target}; check that "
        f"the port of fabric on {target} is up and in the same network segment"
        for source, target, address in (
            ("node0", "node1", "10.77.0.2"),
            ("node0", "node2", "10.77.0.3"),
            ("node1 and node2", "node0", "10.77.0.1"),
        )
    ]


def test_orders_of_many_hosts_pass_where_full_packets_are_lost(segment: Segment) -> None:
    for number in range(8):
        segment.host(f"node{number}", mtu=9000)
    segment.ip(segment.switch, f"link set {segment.port_of('node7')} mtu 1280")
    assert len(prove(segment, unasked=())["problems"]) == 8


def test_ipv6(segment: Segment) -> None:
    segment.host("node0", "fd77::1/64")
    segment.host("node1", "fd77::2/64")
    assert prove(segment, "fd77::/64") == {"problems": [], "notes": []}


def test_ports_of_a_running_cluster_are_proven_as_they_are(pair: Segment) -> None:
    with listening(pair, "node0", "0.0.0.0", RAY_PORT):
        assert prove(pair) == {"problems": [], "notes": []}


def test_firewall_in_one_direction(pair: Segment, firewall: None) -> None:
    pair.iptables("node1", "-A INPUT -p tcp --syn -j DROP")
    assert prove(pair)["problems"] == [
        "node0 to node1: TCP to 10.77.0.2 ports EPHEMERAL and 10002 is not answered, expected a connection "
        "(the other direction works); most likely a firewall: allow TCP from 10.77.0.0/24 on node1"
    ]


def test_firewall_that_rejects(pair: Segment, firewall: None) -> None:
    pair.iptables("node1", "-A INPUT -p tcp --syn -j REJECT --reject-with icmp-host-prohibited")
    assert prove(pair)["problems"] == [
        "node0 to node1: TCP to 10.77.0.2 ports EPHEMERAL and 10002 is refused, expected a connection "
        "(the other direction works); most likely a firewall: allow TCP from 10.77.0.0/24 on node1"
    ]


def test_firewall_on_one_port(pair: Segment, firewall: None) -> None:
    pair.iptables("node0", f"-A INPUT -p tcp --dport {RAY_PORT} -j DROP")
    assert prove(pair)["problems"] == [
        "node1 to node0: TCP to 10.77.0.1 port 6379 is not answered, expected a connection "
        "(other ports are open, the other direction works); most likely a firewall: allow TCP from "
        "10.77.0.0/24 on node0"
    ]


def test_firewall_on_one_of_many_hosts_is_one_sentence(segment: Segment, firewall: None) -> None:
    for number in range(4):
        segment.host(f"node{number}")
    segment.iptables("node2", "-A INPUT -p tcp --syn -j DROP")
    assert prove(segment)["problems"] == [
        "all 3 others to node2: TCP to 10.77.0.3 ports EPHEMERAL and 10002 is not answered, expected a "
        "connection (the other direction works); most likely a firewall: allow TCP from 10.77.0.0/24 on node2"
    ]


def test_switch_with_a_smaller_mtu(segment: Segment) -> None:
    for name in ("node0", "node1"):
        segment.host(name, mtu=9000)
    segment.ip(segment.switch, f"link set {segment.port_of('node1')} mtu 1500")
    assert prove(segment)["problems"] == [
        f"{source} to {target}: packets of 9000 bytes to {address} are lost and those up to 1500 pass, "
        "expected the MTU of fabric to pass; raise the MTU of the switch ports between them, or set that of "
        "the interfaces to 1500"
        for source, target, address in (
            ("node0", "node1", "10.77.0.2"),
            ("node1", "node0", "10.77.0.1"),
        )
    ]


def test_router_with_a_smaller_mtu_that_says_so(segment: Segment) -> None:
    node0 = segment.host("node0", "10.77.1.1/24", mtu=9000)
    node1 = segment.host("node1", "10.77.2.1/24", mtu=9000)
    router = segment.host("router", "10.77.1.254/24", mtu=9000)
    segment.hosts.pop("router")
    segment.ip(router, f"address add 10.77.2.254/24 dev {INTERFACE}")
    subprocess.run(
        ["ip", "netns", "exec", router, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"],
        check=True,
    )
    segment.ip(node0, "route add 10.77.2.0/24 via 10.77.1.254")
    segment.ip(node1, "route add 10.77.1.0/24 via 10.77.2.254")
    for network in ("10.77.1.0/24", "10.77.2.0/24"):
        segment.ip(router, f"route change {network} dev {INTERFACE} mtu 4000")
    assert prove(segment) == {
        "problems": [],
        "notes": [
            "node0 to node1: the largest packet to 10.77.2.1 is 4000 bytes, expected 9000; a router or "
            "tunnel lies between them",
            "node1 to node0: the largest packet to 10.77.1.1 is 4000 bytes, expected 9000; a router or "
            "tunnel lies between them",
        ],
    }


def test_link_without_carrier(pair: Segment) -> None:
    pair.ip(pair.switch, f"link set {pair.port_of('node1')} down")
    assert prove(pair)["problems"] == [
        "node1: fabric has no carrier, expected a link for 10.77.0.2; check its cable and the port at "
        "the other end"
    ]


def test_link_into_another_segment(pair: Segment) -> None:
    pair.ip(pair.switch, f"link set {pair.port_of('node1')} nomaster")
    assert prove(pair)["problems"] == [
        "node0 to node1: nothing answers for 10.77.0.2 behind fabric, expected node1; check that the port "
        "of fabric on node1 is up and in the same network segment",
        "node1 to node0: nothing answers for 10.77.0.1 behind fabric, expected node0; check that the port "
        "of fabric on node0 is up and in the same network segment",
    ]


def test_route_through_another_interface(pair: Segment) -> None:
    node0 = pair.full("node0")
    pair.ip(node0, f"link add management type veth peer name m0 netns {pair.switch}")
    pair.ip(pair.switch, "link set m0 up")
    pair.ip(node0, "address add 10.88.0.1/24 dev management")
    pair.ip(node0, "link set management up")
    pair.ip(node0, "route add 10.77.0.2/32 dev management")
    assert prove(pair)["problems"] == [
        "node0 to node1: the route to 10.77.0.2 leaves through management, expected fabric; see ip route "
        "get 10.77.0.2 on node0 and remove the route that wins",
    ]


def test_no_route(pair: Segment) -> None:
    pair.ip(pair.full("node0"), f"route del {NETWORK} dev {INTERFACE}")
    assert prove(pair)["problems"][0] == (
        "node0 to node1: there is no route to 10.77.0.2, expected one through fabric; see ip route get "
        "10.77.0.2 on node0"
    )


def test_source_address_that_is_not_the_planned_one(pair: Segment) -> None:
    node0 = pair.full("node0")
    pair.ip(node0, f"address del 10.77.0.1/24 dev {INTERFACE}")
    pair.ip(node0, f"address add 10.77.0.100/24 dev {INTERFACE}")
    pair.ip(node0, f"address add 10.77.0.1/24 dev {INTERFACE}")
    assert prove(pair)["problems"] == [
        "node0 to node1: connections to 10.77.0.2 leave with the source 10.77.0.100, expected 10.77.0.1; "
        "make 10.77.0.1 the first address of fabric on node0"
    ]


def test_address_that_another_machine_has_too(pair: Segment) -> None:
    pair.host("stranger", "10.77.0.2/24")
    pair.hosts.pop("stranger")
    assert prove(pair)["problems"] == [
        "node1: 10.77.0.2 on fabric is also claimed by the machine with the MAC address MAC, expected "
        "node1 alone; give one of them another address"
    ]


def test_another_machine_that_answers_for_a_host(pair: Segment) -> None:
    stranger = pair.host("stranger", "10.77.0.9/24")
    pair.hosts.pop("stranger")
    mac = subprocess.run(
        ["ip", "netns", "exec", stranger, "cat", f"/sys/class/net/{INTERFACE}/address"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    # It has the address, yet says so to nobody in ARP.
    quiet = "cd /proc/sys/net/ipv4/conf/all && echo 1 > arp_ignore && echo 2 > arp_announce"
    subprocess.run(["ip", "netns", "exec", stranger, "sh", "-c", quiet], check=True)
    pair.ip(stranger, "address add 10.77.0.2/32 dev lo")
    pair.ip(pair.full("node0"), f"neighbour replace 10.77.0.2 lladdr {mac} dev {INTERFACE}")
    assert (
        "node0 to node1: another machine answers at 10.77.0.2 (MAC address MAC), expected node1; give one "
        "of them another address"
    ) in prove(pair)["problems"]


def test_address_that_is_gone(pair: Segment) -> None:
    pair.ip(pair.full("node1"), f"address del 10.77.0.2/24 dev {INTERFACE}")
    assert prove(pair)["problems"] == [
        "node1: cannot listen at 10.77.0.2 on fabric (Cannot assign requested address), expected the "
        "address of the plan; see ip address show dev fabric on node1"
    ]
