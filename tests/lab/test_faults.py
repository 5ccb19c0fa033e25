# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""How soon is a fault named, on real Ray and real vLLM?"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from samewire_lab.waiting import wait_for
from tests.lab.driver import INVENTORY, samewire
from tests.lab.faults import (
    FAULTS,
    HOSTS,
    KILL_RAY,
    OTHER_RAY,
    OTHER_RAY_FOLDER,
    PROGRAMS,
    Event,
    Fault,
)
from tests.lab.shell import on

WRAPPER = """#!/opt/vllm-env/bin/python3
import os, sys
name, arguments, environment = os.path.basename(sys.argv[0]), sys.argv[1:], os.environ
{change}
os.execve("/opt/vllm-env/bin/" + name, [name, *arguments], environment)
"""

pytestmark = pytest.mark.faults
Rows = list[tuple[str, ...]]


@pytest.fixture(scope="module")
def _other_ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Put another Ray beside the image's on node1."""
    wheels = tmp_path_factory.mktemp("ray")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    subprocess.run([*pip, "--dest", str(wheels), f"ray=={OTHER_RAY}"], check=True)
    (wheel,) = wheels.glob("ray-*.whl")
    for host in HOSTS:
        on(host).read(f"rm -rf {OTHER_RAY_FOLDER}; mkdir -p {OTHER_RAY_FOLDER}")
    worker = on("node1")
    worker.send(wheel, f"{OTHER_RAY_FOLDER}/ray.whl")
    # Python's zipfile drops the modes of the programs.
    worker.read(
        f"cd {OTHER_RAY_FOLDER}; python3 -m zipfile -e ray.whl site; rm ray.whl; chmod -R a+rx site"
    )
    yield
    for host in HOSTS:
        on(host).read(f"rm -rf {OTHER_RAY_FOLDER}")


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
        mounted = [PROGRAMS, *([OTHER_RAY_FOLDER] if fault.other_ray else [])]
        variables += [
            f"ray_node_programs={PROGRAMS}",
            f"ray_node_mounts=[{', '.join(f'{path}:{path}:ro' for path in mounted)}]",
        ]
    for host, script in fault.do.items():
        on(host).read(script)
    try:
        yield variables
    finally:
        for host, script in fault.undo.items():
            on(host).read(script)
        clean()


@contextlib.contextmanager
def befalling(event: Event | None, begun: list[float]) -> Iterator[None]:
    """Let the event happen in its time; `begun` gets the moment."""
    over = threading.Event()

    def watch(event: Event) -> None:
        while not over.is_set():
            if on(event.seen_by).run(event.when).returncode == 0:
                on(event.host).read(event.do)
                begun.append(time.monotonic())
                return
            over.wait(0.5)

    watcher = threading.Thread(target=watch, args=(event,)) if event else None
    if watcher:
        watcher.start()
    try:
        yield
    finally:
        over.set()
        if watcher and event:
            watcher.join()
            on(event.host).read(event.undo)


@pytest.mark.usefixtures("_other_ray")
@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_fault(fault: Fault, rows: Rows) -> None:
    begun = [time.monotonic()]
    with injected(fault) as variables, befalling(fault.event, begun):
        given = [part for variable in variables for part in ("-e", variable)]
        done = samewire("deploy", "-i", INVENTORY, *given)
        seconds = time.monotonic() - begun[-1]
    printed = done.stdout + done.stderr
    print(printed)
    assert done.returncode != 0, printed
    assert len(begun) == (2 if fault.event else 1), "the event did not happen"
    found = re.search(fault.found, printed)
    assert found, printed
    rows.append((fault.name, found.group(), f"{seconds:.0f} s", fault.alone))
    assert seconds < fault.within


def test_the_head_killed_while_serving(rows: Rows) -> None:
    clean()
    try:
        assert samewire("deploy", "-i", INVENTORY).returncode == 0
        on("node0").read(KILL_RAY)
        wait_for(
            lambda: on("node0").run("curl -sf http://127.0.0.1:8000/health").returncode != 0,
            90,
            "the server goes on without its head",
        )
        begun = time.monotonic()
        done = samewire("diagnose", "-i", INVENTORY)
        seconds = time.monotonic() - begun
        print(done.stdout + done.stderr)
        found = re.search(r"ray_head_unreachable|ray_worker_died", done.stdout)
        assert found, done.stdout + done.stderr
        rows.append(
            ("the head killed while serving", found.group(), f"{seconds:.0f} s", "ends with code 0")
        )
        assert seconds < 60
    finally:
        clean()
