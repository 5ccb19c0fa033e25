# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the server as a child, and ends it where it will not end by itself, so that Docker starts it anew.

Seen with vLLM 0.32: a rank that dies after the engine is made, and before the API is open, leaves a server
that neither serves nor exits.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading

from bounded_starts import restrain

# Printed by vLLM's executors; source: vllm/v1/executor/multiproc_executor.py, ray_executor_v2.py.
DOOMED = b"died unexpectedly, shutting down executor"
# vLLM ends within seconds where it ends by itself.
GRACE, LAST_GRACE = 60, 15


def copy(source, target, seen):
    """Copy lines until the source ends; call `seen` once, when a line says that all is lost."""
    told = False
    for line in source:
        target.write(line)
        target.flush()
        if not told and DOOMED in line:
            told = True
            seen()


def end(child, grace=GRACE, last_grace=LAST_GRACE):
    """End a child, and what it started, that has not ended by itself after so many seconds."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(grace)
    if child.returncode is None:
        print(
            f"samewire: a rank died {grace} s ago and the server has not ended; ending it, to begin anew",
            flush=True,
        )
        end_now(child, last_grace)


def end_now(child, last_grace=LAST_GRACE):
    """End a child, and what it started, that gets so many seconds to end in order."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(last_grace)
        if child.returncode is None:
            os.killpg(child.pid, signal.SIGKILL)


def end_when(lost, child):
    """End a child as soon as `lost` returns why."""
    why = lost()
    if child.poll() is None:
        print(f"samewire: {why}; ending the server, to begin anew", flush=True)
        end_now(child)


def run(program, lost=None):
    """Become the program, as far as the caller can tell; returns its exit status.

    lost: blocks until the program can only begin anew, and returns why.
    """
    child = subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda got, _: child.send_signal(got))
    ender = threading.Thread(target=end, args=(child,), daemon=True)
    copier = threading.Thread(
        target=copy, args=(child.stdout, sys.stdout.buffer, ender.start), daemon=True
    )
    copier.start()
    if lost:
        threading.Thread(target=end_when, args=(lost, child), daemon=True).start()
    code = child.wait()
    # What the server leaves behind would hold its devices, and this pipe.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    copier.join(LAST_GRACE)
    return 128 - code if code < 0 else code


def main(program):
    """Run the server, unless it has ended too often."""
    restrain()
    sys.exit(run(program))
