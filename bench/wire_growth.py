# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""How the proof of the wire grows with the hosts; run it as root: python -m bench.wire_growth [HOSTS...].

Each host is a network namespace with a Python of its own, which is started before the clock is: what
is measured is what the modules do on the hosts and how the controller judges it, not how Ansible
starts them. All namespaces share the processors of this machine.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ansible_collections.samewire.vllm.plugins.filter.wire_verdict import wire_verdict
from ansible_collections.samewire.vllm.plugins.module_utils import _wire, _wire_probe
from tests.netns.segment import INTERFACE, Segment
from tests.unit.modules import ROOT

SIZES = (2, 8, 32)
ROUNDS = 5
RAY_PORT = 6379
PLAN = {"network": {"cidr": "10.77.0.0/24"}}
PATHS = os.pathsep.join((str(ROOT), str(ROOT / "collections")))


def host() -> None:
    """Be one host: do what each line of standard input asks for, as the modules would."""
    for line in sys.stdin:
        asked = json.loads(line)
        if "listen" in asked:
            listener, sockets = _wire_probe.listen(**asked["listen"])
            if not os.fork():
                _wire_probe.serve(listener, sockets, asked["peers"], 60)
                os._exit(0)
            for each in sockets:
                each.close()
            answer: Any = _wire.render_listener(listener)
        else:
            listeners = {
                name: _wire.parse_listener(each) for name, each in asked["listeners"].items()
            }
            own = listeners.pop(asked["probe"])
            answer = _wire.render_probe(_wire_probe.probe(asked["probe"], own, listeners, _run))
            os.wait()
        print(json.dumps(answer), flush=True)


def _run(argv: Any, given: str) -> tuple[int, str, str]:
    done = subprocess.run(argv, input=given, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@contextmanager
def hosts(size: int) -> Iterator[tuple[Segment, dict[str, subprocess.Popen[str]]]]:
    """Yield that many hosts on one segment, with a process in each that waits for a line."""
    segment = Segment(f"bench{os.getpid()}")
    started: dict[str, subprocess.Popen[str]] = {}
    try:
        for number in range(size):
            segment.host(f"node{number}", mtu=9000)
        for name in segment.hosts:
            argv = ["ip", "netns", "exec", segment.full(name), sys.executable]
            started[name] = subprocess.Popen(
                [*argv, "-m", "bench.wire_growth", "--host"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": PATHS},
            )
        prove(segment, started)  # who has answered once has started
        yield segment, started
    finally:
        for process in started.values():
            process.communicate()
        segment.close()


def prove(segment: Segment, started: Mapping[str, subprocess.Popen[str]]) -> dict[str, Any]:
    """Prove the wire as the role does, and return the verdict."""
    listeners = _ask(
        started,
        {
            name: {
                "listen": {
                    "address": address,
                    "interface": INTERFACE,
                    "ports": [RAY_PORT] if name == "node0" else [],
                    "ranges": ["10002-19999"],
                },
                "peers": [peer for peer in segment.hosts if peer != name],
            }
            for name, address in segment.hosts.items()
        },
    )
    probes = _ask(started, {name: {"probe": name, "listeners": listeners} for name in started})
    return wire_verdict(PLAN, listeners, probes)


def _ask(started: Mapping[str, subprocess.Popen[str]], asked: Mapping[str, Any]) -> dict[str, Any]:
    for name, process in started.items():
        if process.stdin is not None:
            process.stdin.write(json.dumps(asked[name]) + "\n")
            process.stdin.flush()
    return {
        name: json.loads(process.stdout.readline())
        for name, process in started.items()
        if process.stdout is not None
    }


def main() -> None:
    """Print the table."""
    print(f"{'hosts':>5}  {'pairs':>6}  {'median s':>8}  {'worst s':>8}   of {ROUNDS} rounds")
    for size in [int(text) for text in sys.argv[1:]] or SIZES:
        with hosts(size) as (segment, started):
            took = []
            for _ in range(ROUNDS):
                began = time.monotonic()
                verdict = prove(segment, started)
                took.append(time.monotonic() - began)
                if verdict["problems"] or verdict["notes"]:
                    raise SystemExit(f"the wire is not whole: {verdict}")
        print(
            f"{size:5}  {size * (size - 1):6}  {statistics.median(took):8.2f}  {max(took):8.2f}",
            flush=True,
        )


if __name__ == "__main__":
    host() if "--host" in sys.argv else main()
