# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The networks of bench/gpu: from real interfaces to the variables of each rank, without a GPU."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bench.gpu import hosts
from bench.gpu.cases import CASES
from bench.gpu.verdict import NOISE_BYTES
from tests.netns.segment import Segment

BY_NAME = {case.name: case for case in CASES}
CONNECT = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 9), 10)
except OSError as error:
    print(error.strerror)
"""


@pytest.mark.parametrize(
    ("name", "interfaces", "addresses", "family"),
    [
        ("planned", ("fab0", "fab0"), ("10.77.0.1", "10.77.0.2"), "AF_INET"),
        ("apart", ("fab0", "fab0"), ("10.77.0.1", "10.77.0.2"), "AF_INET"),
        ("names", ("fab0", "fab1"), ("10.77.0.1", "10.77.0.2"), "AF_INET"),
        ("prefix", ("fab0", "fab0"), ("10.77.0.1", "10.77.0.2"), "AF_INET"),
        ("addresses", ("fab0", "fab0"), ("10.66.0.1", "10.66.0.2"), "AF_INET"),
        ("ipv6", ("fab0", "fab0"), ("fd00:77::1", "fd00:77::2"), "AF_INET6"),
    ],
)
def test_the_variables_of_a_case(
    can_make_namespaces: None,
    name: str,
    interfaces: tuple[str, str],
    addresses: tuple[str, str],
    family: str,
) -> None:
    with hosts.lan(BY_NAME[name].ports) as segment:
        plan = hosts.planned(segment, BY_NAME[name].pin)
    for host, interface, address in zip(hosts.HOSTS, interfaces, addresses, strict=True):
        given = hosts.environment(plan, host)
        assert given["NCCL_SOCKET_IFNAME"] == f"={interface}"
        assert given["GLOO_SOCKET_IFNAME"] == interface
        assert given["VLLM_HOST_IP"] == address
        assert given["NCCL_SOCKET_FAMILY"] == family
        assert given["NCCL_NET"] == "Socket"


def test_two_equal_networks_need_a_pin(can_make_namespaces: None) -> None:
    with (
        hosts.lan(BY_NAME["prefix"].ports) as segment,
        pytest.raises(SystemExit, match=r"10.77.0.0/24 and 10.99.0.0/24 each join all hosts"),
    ):
        hosts.planned(segment, None)


def meets(segment: Segment, address: str) -> str:
    """Return how a connection from node0 to a closed port ends."""
    argv = ["ip", "netns", "exec", segment.full("node0"), sys.executable, "-c", CONNECT, address]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def test_hosts_apart_meet_on_the_fabric_alone(can_make_namespaces: None) -> None:
    with hosts.lan(BY_NAME["apart"].ports) as segment:
        before = hosts.sent(segment, "node0")
        assert meets(segment, "10.77.0.2") == "Connection refused"
        assert meets(segment, "10.88.0.2") == "No route to host"
        after = hosts.sent(segment, "node0")
    assert 0 < after["fab0"] - before["fab0"] < NOISE_BYTES
