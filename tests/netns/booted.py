# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A namespace in which systemd is booted, over a copy of this machine's files that is thrown away."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.netns.segment import PLUGINS
from tests.unit.modules import ROOT

PATIENCE = 60.0
TARGET = "samewire-test.target"
# The mounts belong to the namespace and end with it. What was mounted below / is not in the overlay.
INIT = """
set -e
mount -t tmpfs none {folder}
cd {folder}
mkdir upper work root
mount -t overlay none -o lowerdir=/,upperdir=upper,workdir=work root
for kept in {kept}; do mkdir -p "root$kept"; mount --rbind "$kept" "root$kept"; done
cp -r {files}/. root/
rm -f root/etc/systemd/system/*.wants/*
for unit in systemd-tmpfiles-setup systemd-tmpfiles-setup-dev systemd-journal-flush; do
  ln -sf /dev/null "root/etc/systemd/system/$unit.service"
done
mount -t proc none root/proc
# Where it cannot be written nobody waits for udev, which does not run here, and which netplan triggers.
mount -t sysfs -o ro none root/sys
ln -sf true root/usr/bin/udevadm
mount -t tmpfs none root/run
mount -t tmpfs none root/dev
for device in null zero full random urandom tty; do
  touch "root/dev/$device"; mount --bind "/dev/$device" "root/dev/$device"
done
ln -s /proc/self/fd root/dev/fd
mkdir root/dev/shm
mount -t cgroup2 none root/sys/fs/cgroup
cd root
mkdir .old
pivot_root . .old
umount -l .old
export container=other
exec /lib/systemd/systemd --unit={target}
"""


@dataclass(frozen=True)
class Booted:
    """A namespace and the number of the process that is its first."""

    namespace: str
    process: int

    def run(self, *argv: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["nsenter", "--target", str(self.process), "--all", "--", *argv],
            capture_output=True,
            check=False,
            text=True,
            input=given,
            env={**os.environ, "PYTHONPATH": str(ROOT / "collections")},
        )

    def read(self, *argv: str) -> str:
        done = self.run(*argv)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def module(self, module: str, **arguments: Any) -> dict[str, Any]:
        """Run a module as Ansible does, and return what it printed."""
        arguments |= {"_ansible_remote_tmp": "/tmp", "_ansible_check_mode": False}
        given = json.dumps({"ANSIBLE_MODULE_ARGS": arguments})
        done = self.run(sys.executable, "-m", f"{PLUGINS}.{module}", given=given)
        assert done.stdout, done.stderr
        return dict(json.loads(done.stdout))


@contextmanager
def booted(
    namespace: str, services: Sequence[str], files: Mapping[str, str], folder: Path
) -> Iterator[Booted]:
    """Boot the services, with files of its own (text by path), and wait until all of them are active."""
    wants = " ".join(services)
    target = f"[Unit]\nRequires={wants}\nAfter={wants}\n"
    for path, text in {f"/etc/systemd/system/{TARGET}": target, **files}.items():
        file = folder / "files" / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o600)
    (folder / "root").mkdir()
    kept = dict.fromkeys([str(ROOT), sys.prefix, sys.base_prefix])
    init = INIT.format(
        folder=folder / "root", files=folder / "files", kept=" ".join(kept), target=TARGET
    )
    unshare = [
        "unshare",
        "--mount",
        "--pid",
        "--uts",
        "--ipc",
        "--cgroup",
        "--fork",
        "--kill-child",
    ]
    with (
        (folder / "boot.log").open("w") as log,
        subprocess.Popen(
            ["ip", "netns", "exec", namespace, *unshare, "bash", "-c", init], stdout=log, stderr=log
        ) as running,
    ):
        try:
            host = Booted(namespace, _first(running, folder / "boot.log"))
            deadline = time.monotonic() + PATIENCE
            while host.run("systemctl", "is-active", *services).returncode:
                assert time.monotonic() < deadline, host.run("systemctl", "list-jobs").stdout
                time.sleep(0.2)
            yield host
        finally:
            running.kill()


def _first(running: subprocess.Popen[bytes], log: Path) -> int:
    """Return the number of systemd once it has taken the shell's place."""
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    deadline = time.monotonic() + PATIENCE
    while True:
        assert running.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        found = children.read_text().split()
        if found and Path(f"/proc/{found[0]}/comm").read_text() == "systemd\n":
            return int(found[0])
        time.sleep(0.05)
