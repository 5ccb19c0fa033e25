# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Faults that cost half an hour today, on real Ray and real vLLM: how soon are they named?

A fault is put into the image's programs, not into Samewire: a folder on the host stands before the real
`ray` and `vllm` and changes what they are started with, as a wrong image or a hand-made script would.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from tests.lab.shell import on

ROOT = pathlib.Path(__file__).parents[2]
HOSTS = ("node0", "node1")
PROGRAMS = "/srv/fault"
WRAPPER = """#!/opt/vllm-env/bin/python3
import os, sys
name, arguments, environment = os.path.basename(sys.argv[0]), sys.argv[1:], os.environ
{change}
os.execve("/opt/vllm-env/bin/" + name, [name, *arguments], environment)
"""

pytestmark = pytest.mark.faults


@dataclass(frozen=True)
class Fault:
    """A fault and how it must end.

    ray, vllm: Python that changes `environment` or `arguments` of the program, ray by host; do and undo:
    shell, by host; variables: those of the deployment; found: what must be named; within: seconds.
    """

    name: str
    found: str
    within: int
    ray: dict[str, str] = field(default_factory=dict)
    vllm: str = ""
    do: dict[str, str] = field(default_factory=dict)
    undo: dict[str, str] = field(default_factory=dict)
    variables: tuple[str, ...] = ()


UNSET = "environment.pop('VLLM_HOST_IP', None)"
UNANSWERED = r"node\d to node\d: TCP to \S+ ports .* is not answered, expected a connection"

FAULTS = [
    Fault(
        "VLLM_HOST_IP unset on all nodes",
        r"node_ip_mismatch",
        within=240,
        ray=dict.fromkeys(HOSTS, UNSET),
        vllm=UNSET,
    ),
    Fault(
        "the Ray worker on its default route",
        r"node_ip_mismatch",
        within=90,
        ray={
            "node1": "arguments = [a for a in arguments if not a.startswith('--node-ip-address')]\n"
            "arguments += ['--node-ip-address=10.213.1.181']"
        },
    ),
    Fault(
        "Gloo on the loopback",
        r"gloo_loopback_address",
        within=120,
        ray=dict.fromkeys(HOSTS, "environment.pop('GLOO_SOCKET_IFNAME', None)"),
        vllm="environment.pop('GLOO_SOCKET_IFNAME', None)",
    ),
    Fault(
        "an interface for Gloo that does not exist",
        r"gloo_ifname_invalid",
        within=120,
        ray={"node1": "environment['GLOO_SOCKET_IFNAME'] = 'enp9s9'"},
    ),
    Fault(
        "a parallel size that does not divide the heads",
        r"tp_size_not_dividing_heads",
        within=90,
        variables=("vllm_server_tensor_parallel_size=3", "ray_node_gpus=2"),
    ),
    Fault(
        "an unknown argument of vllm serve",
        r"container lab-vllm exited with code 2|restarted",
        within=90,
        variables=("vllm_server_extra_args=[--no-such-argument]",),
    ),
    Fault(
        "a one-way firewall on the fabric",
        UNANSWERED,
        within=40,
        do={"node0": "iptables -I INPUT -i enp1s0f0np0 -p tcp -j DROP"},
        undo={"node0": "iptables -D INPUT -i enp1s0f0np0 -p tcp -j DROP"},
    ),
    Fault(
        "the fabric cut after the host was given its address",
        UNANSWERED,
        within=40,
        do={"node1": "ip link set enp1s0f1np1 down"},
        undo={
            "node1": "ip link set enp1s0f1np1 up; ip address replace 10.213.2.13/24 dev enp1s0f1np1"
        },
    ),
]


def install(host: str, program: str, change: str) -> None:
    """Put a changed program before the real one."""
    text = WRAPPER.format(change=change)
    on(host).read(
        f"mkdir -p {PROGRAMS}; cat > {PROGRAMS}/{program} <<'PROGRAM'\n{text}\nPROGRAM\n"
        f"chmod 755 {PROGRAMS}/{program}"
    )


def clean() -> None:
    for host in HOSTS:
        on(host).read(
            "docker rm -f lab-vllm lab-ray >/dev/null 2>&1 || true;"
            f"rm -rf /root/.samewire/lab {PROGRAMS}"
        )


@contextlib.contextmanager
def injected(fault: Fault) -> Iterator[list[str]]:
    """Put the fault into the hosts; yields the variables of the deployment."""
    clean()
    variables = list(fault.variables)
    if fault.ray or fault.vllm:
        for host in HOSTS:
            install(host, "ray", fault.ray.get(host, ""))
            install(host, "vllm", fault.vllm)
        variables += [
            f"ray_node_programs={PROGRAMS}",
            f"ray_node_mounts=['{PROGRAMS}:{PROGRAMS}:ro']",
        ]
    for host, script in fault.do.items():
        on(host).read(script)
    try:
        yield variables
    finally:
        for host, script in fault.undo.items():
            on(host).read(script)
        clean()


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_fault(fault: Fault, record_property: Callable[[str, object], None]) -> None:
    with injected(fault) as variables:
        begun = time.monotonic()
        done = subprocess.run(
            ["samewire", "deploy", "-i", "inventories/lab"]
            + [part for variable in variables for part in ("-e", variable)],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            env={**os.environ, "NO_COLOR": "1"},
        )
        seconds = time.monotonic() - begun
    printed = done.stdout + done.stderr
    print(printed)
    record_property("seconds", round(seconds))
    assert done.returncode != 0, printed
    found = re.search(fault.found, printed)
    assert found, printed
    assert seconds < fault.within
    print(f"FAULT | {fault.name} | {found.group()} | {seconds:.0f} s")
