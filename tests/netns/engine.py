# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Docker Engines of hosts that are network namespaces: each with its own disk, and nothing to run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils._engine import (
    Engine,
    EngineRefused,
    EngineUnavailable,
)

# A root file system with another release of Docker, to be tested instead of that of this machine.
ROOT = os.environ.get("SAMEWIRE_TEST_ENGINE_ROOT", "")
# For Docker from 25 on: the hosts on which containerd keeps the images, as node1,node2.
SNAPSHOTTERS = os.environ.get("SAMEWIRE_TEST_ENGINE_CONTAINERD", "").split(",")
_SETTINGS = ["--bridge=none", "--iptables=false", "--ip6tables=false", "--live-restore=false"]


def dockerd() -> bool:
    """Whether there is an engine to be started."""
    return bool(ROOT) or all(shutil.which(name) for name in ("dockerd", "containerd", "docker"))


@dataclass
class Engines:
    """The engines of some hosts; below the folder there is a file system of its own for each."""

    folder: Path
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def socket(self, host: str) -> Path:
        return self.folder / f"{host}.sock"

    def start(self, host: str, namespace: str, *more: str) -> None:
        """Start the engine of a host in a network namespace."""
        disk = self.folder / host
        settings = self.folder / f"{host}.json"
        settings.write_text(
            json.dumps({"features": {"containerd-snapshotter": host in SNAPSHOTTERS}})
        )
        own = [
            *(f"--config-file={settings}", f"--host=unix://{self.socket(host)}"),
            *(f"--data-root={disk}/docker", f"--exec-root={self.folder}/{host}.run"),
            f"--pidfile={self.folder}/{host}.pid",
        ]
        # Each has a containerd of its own, which keeps its images there, too.
        containerd = self.folder / f"{host}.containerd.sock"
        self._begin(
            f"{host} containerd",
            [
                *("containerd", "--log-level=error", f"--address={containerd}"),
                *(f"--root={disk}/containerd", f"--state={self.folder}/{host}.containerd"),
            ],
        )
        argv = ["dockerd", *own, *_SETTINGS, f"--containerd={containerd}", *more]
        # Unlike `ip netns exec` it leaves /sys, where the engine looks for its control groups.
        self._begin(host, argv, ["nsenter", f"--net=/run/netns/{namespace}"])
        end = time.monotonic() + 60
        while not self._answers(host):
            assert time.monotonic() < end, self.log(host)
            time.sleep(0.1)

    def engine(self, host: str) -> Engine:
        return Engine(str(self.socket(host)), timeout=120)

    def docker(self, host: str, *arguments: str, given: bytes | None = None) -> str:
        """Run the client of Docker for the engine of a host."""
        done = subprocess.run(
            ["docker", "--host", f"unix://{self.socket(host)}", *arguments],
            input=given,
            check=True,
            capture_output=True,
        )
        return done.stdout.decode()

    def image(self, host: str, name: str) -> dict[str, Any] | None:
        return self.engine(host).image(name)

    def used(self, host: str) -> int:
        """Return the bytes that the engine of a host has on its disk."""
        found = os.statvfs(self.folder / host)
        return (found.f_blocks - found.f_bfree) * found.f_frsize

    def log(self, host: str) -> str:
        return (self.folder / f"{host}.log").read_text()[-3000:]

    def stop(self) -> None:
        for process in reversed(self._running.values()):
            process.terminate()
            process.wait()
        self._running.clear()

    def close(self) -> None:
        self.stop()
        for disk in self.folder.iterdir():
            if disk.is_mount():
                _run(["umount", "--recursive", "--lazy", str(disk)])

    def _begin(self, name: str, argv: Sequence[str], before: Sequence[str] = ()) -> None:
        inside = ["chroot", ROOT] if ROOT else []
        with (self.folder / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                [*before, *inside, *argv],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "DOCKER_RAMDISK": "1"},
            )

    def _answers(self, host: str) -> bool:
        try:
            self.engine(host).version()
        except (EngineUnavailable, EngineRefused):
            return False
        return True


@contextmanager
def engines(folder: Path, hosts: Sequence[str], megabytes: int = 400) -> Iterator[Engines]:
    """Yield disks of that size, and at the end stop the engines that were started on them.

    Only processes that begin after this see the disks.
    """
    for host in hosts:
        (folder / host).mkdir()
        _run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", str(folder / host)])
    if ROOT:
        Path(f"{ROOT}{folder}").mkdir(parents=True, exist_ok=True)
        _run(["mount", "--rbind", str(folder), f"{ROOT}{folder}"])
    started = Engines(folder)
    try:
        yield started
    finally:
        if ROOT:
            _run(["umount", "--recursive", "--lazy", f"{ROOT}{folder}"])
        started.close()


def _run(argv: Sequence[str]) -> None:
    subprocess.run(argv, check=True, capture_output=True, text=True)
