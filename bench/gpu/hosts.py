# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Two hosts as network namespaces, with the facts, the plan and the variables that Samewire has for them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _environment
from bench.gpu import verdict
from bench.gpu.cases import Port
from samewire.facts import parse
from tests.netns.segment import Segment

HOSTS = ("node0", "node1")
GATEWAY = 254


@contextmanager
def lan(ports: Sequence[Port]) -> Iterator[Segment]:
    """Yield two hosts with these ports; a switch joins them, and has the gateway of the default route."""
    segment = Segment(f"swg{os.getpid()}")
    try:
        for host in HOSTS:
            segment.namespace(host)
        for number, port in enumerate(ports):
            _plug(segment, port, f"wire{number}")
        yield segment
    finally:
        segment.close()


def _plug(segment: Segment, port: Port, bridge: str) -> None:
    switch = segment.switch
    segment.ip(switch, f"link add {bridge} type bridge")
    segment.ip(switch, f"link set {bridge} up")
    if port.gateway:
        segment.ip(switch, f"address add {port.addresses(GATEWAY)[0]} dev {bridge}")
    for number, (host, name) in enumerate(zip(HOSTS, port.names, strict=True), start=1):
        far = f"{bridge}-{number}"
        inside = segment.full(host)
        segment.ip(inside, f"link add {name} type veth peer name {far} netns {switch}")
        segment.ip(switch, f"link set {far} mtu {port.mtu} master {bridge} up")
        if not port.joined:
            segment.ip(switch, f"link set {far} type bridge_slave isolated on")
        for address in port.addresses(number):
            nodad = " nodad" if ":" in address else ""
            segment.ip(inside, f"address add {address} dev {name}{nodad}")
        segment.ip(inside, f"link set {name} mtu {port.mtu} up")
        if port.gateway:
            gateway = port.addresses(GATEWAY)[0].partition("/")[0]
            segment.ip(inside, f"route add default via {gateway}")


def planned(segment: Segment, pin: str | None) -> dict[str, Any]:
    """Return the plan for the facts that the hosts say of themselves."""
    facts = [{"name": host, **segment.module(host, "interconnect_info")["facts"]} for host in HOSTS]
    document = {"hosts": facts, "interconnect_network": pin}
    plan = parse(document, "the hosts", "bench").plan()
    if "error" in plan:
        raise SystemExit(f"there is no plan: {plan['error']['message']}")
    return plan


def environment(plan: Mapping[str, Any], host: str) -> dict[str, str]:
    """Return the variables that Samewire gives to the containers of a host."""
    return _environment.node_environment(plan, host, HOSTS[0])


def refusal(plan: Mapping[str, Any], changes: Mapping[str, str]) -> str | None:
    """Return what Samewire says to these variables on top of its own, None where it lets them."""
    try:
        for host in HOSTS:
            _environment.node_environment(plan, host, HOSTS[0], overrides=changes)
    except _environment.EnvironmentRefused as error:
        return str(error)
    return None


def sent(segment: Segment, host: str) -> dict[str, int]:
    """Return the bytes that each interface of a host sent so far."""
    argv = ["ip", "-n", segment.full(host), "-json", "-statistics", "link"]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    return verdict.counters(json.loads(done.stdout))
