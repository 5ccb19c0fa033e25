# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Measure how long the diagnosis takes and how much memory it needs.

usage: python bench/diagnosis.py [MEGABYTES]

Four logs of that size are written to a temporary folder and diagnosed by the command line: what ranks of
vLLM and NCCL repeat, the same with every line unlike all others, and errors that are alike or not.
"""

from __future__ import annotations

import hashlib
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

SAMEWIRE = (sys.executable, "-c", "from samewire.cli import main; main()")
USUAL = (
    "(RayWorkerWrapper pid=1978, ip=192.168.200.13) spark1:1978:2113 [0] NCCL INFO Channel 07/0 : 1[0] -> "
    "0[0] [send] via NET/IB/{number}",
    "(EngineCore pid=630) INFO 08-31 06:22:53 [loggers.py:123] Engine {number}: Avg prompt throughput: 0.0 "
    "tokens/s, Running: 0 reqs, Waiting: 0 reqs",
    '(APIServer pid=1) INFO:     192.168.200.13:{number} - "GET /health HTTP/1.1" 200 OK',
    "\x1b[36m(RayWorkerProc pid=33)\x1b[0m Loading safetensors checkpoint shards: {number}% Completed "
    "[repeated 3x across cluster]",
)


def usual(number: int) -> str:
    """Return a line as a healthy cluster repeats it."""
    return USUAL[number % len(USUAL)].format(number=number)


def unlike(number: int) -> str:
    """Return a line whose words no other line has."""
    words = hashlib.blake2b(str(number).encode()).hexdigest()
    letters = words.translate(str.maketrans("0123456789", "ghijklmnop"))
    return f"(EngineCore pid=630) INFO 08-31 06:22:53 [core.py:1] {letters} {letters[::-1]}"


def failing(number: int) -> str:
    """Return an error that is like those before."""
    thread = f"spark0:{number}:82{number % 7} [0]"
    return f"{thread} NCCL INFO Call to connect returned Connection timed out, retrying"


def failing_unlike(number: int) -> str:
    """Return an error in words that no other line has."""
    return f"ERROR connect to port failed, connection refused: {unlike(number)}"


def measured(line: Callable[[int], str], megabytes: int, folder: Path) -> str:
    """Diagnose a log of such lines in a process of its own; return what that took."""
    path = folder / "made.log"
    number = 0
    with path.open("w", encoding="utf-8") as log:
        while log.tell() < megabytes << 20:
            log.writelines(f"{line(number + each)}\n" for each in range(10_000))
            number += 10_000
    started = time.monotonic()
    subprocess.run([*SAMEWIRE, "diagnose", str(path)], check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - started
    # The kernel keeps the largest of all children so far.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    return f"{line.__name__:15} {number:>9} lines {seconds:6.1f} s, memory so far {peak} MB at most"


def main() -> None:
    """Print a line per log."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as folder:
        for line in (usual, unlike, failing, failing_unlike):
            print(measured(line, megabytes, Path(folder)))


if __name__ == "__main__":
    main()
