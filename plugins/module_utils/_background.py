# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Work that goes on when a module has returned."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

Process = subprocess.Popen[bytes]

_PAUSE = 0.2


def on_connection(command: Sequence[str], connection: socket.socket) -> Process:
    """Start a program whose standard input and output are a connection."""
    number = connection.fileno()
    return subprocess.Popen(command, stdin=number, stdout=number, stderr=subprocess.DEVNULL)


def listener(address: str) -> socket.socket:
    """Return a socket that listens on an address, at a port that the kernel chooses."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.create_server((address, 0), family=family, backlog=128)


def detached(work: Callable[[], object]) -> None:
    """Do the work in a process of its own, and return at once; what it raises is lost."""
    # Forked twice, so that Ansible neither waits for the child nor has to reap it.
    if os.fork():
        os.wait()
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    try:
        work()
    finally:
        # What the module registered for its own end belongs to the parent.
        os._exit(0)


def begin(work: Callable[[Callable[[str], None]], str]) -> str:
    """Begin work that says how far it is and returns why it failed, empty where it did not.

    Returns the folder by which `watch` knows it.
    """
    job = tempfile.mkdtemp(prefix="samewire-job-")
    # Held as long as the work goes on, however it ends.
    lock = os.open(job, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    detached(lambda: _write(job, "problem", work(lambda text: _write(job, "progress", text))))
    os.close(lock)
    return job


def watch(
    job: str,
    seconds: float,
    lost: str = "the work in the background ended without a word; run again",
) -> dict[str, Any]:
    """Wait a while for the end of the work and return `over`, `problem` and `progress`.

    lost: the problem of work that ended without saying how. Work that is over leaves nothing behind.
    """
    end = time.monotonic() + seconds
    while (goes_on := _goes_on(job)) and time.monotonic() < end:
        time.sleep(_PAUSE)
    problem, progress = _read(job, "problem"), _read(job, "progress") or ""
    if goes_on:
        return {"over": False, "problem": "", "progress": progress}
    shutil.rmtree(job, ignore_errors=True)
    if problem is None:
        problem = lost
    return {"over": not problem, "problem": problem, "progress": progress}


def _goes_on(job: str) -> bool:
    lock = os.open(job, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _write(job: str, name: str, text: str) -> None:
    file = os.path.join(job, name)
    with open(f"{file}.new", "w", encoding="utf-8") as stream:
        stream.write(text)
    os.rename(f"{file}.new", file)


def _read(job: str, name: str) -> str | None:
    try:
        with open(os.path.join(job, name), encoding="utf-8") as stream:
            return stream.read()
    except FileNotFoundError:
        return None
