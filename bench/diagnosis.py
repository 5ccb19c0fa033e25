# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Measure how long the diagnosis takes and how much memory it needs.

usage: python -m bench.diagnosis [MEGABYTES]

Four logs of that size are written to a temporary folder and diagnosed by the command line: what ranks of
vLLM and NCCL repeat, the same with every line unlike all others, and errors that are alike or not.
"""

from __future__ import annotations

import hashlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.ratio import Row

MEGABYTES = 200
READ = "import sys; print(sum(1 for line in open(sys.argv[1], encoding='utf-8')))"
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


def written(line: Callable[[int], str], megabytes: int, path: Path) -> int:
    """Write a log of such lines; return how many."""
    number = 0
    with path.open("w", encoding="utf-8") as log:
        while log.tell() < megabytes << 20:
            log.writelines(f"{line(number + each)}\n" for each in range(10_000))
            number += 10_000
    return number


def _seconds(*command: str) -> float:
    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def _peak() -> int:
    """Return the most memory of a child so far, in MB: the kernel keeps the largest of all."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10


def measured(line: Callable[[int], str], megabytes: int, folder: Path) -> str:
    """Diagnose a log of such lines in a process of its own; return what that took."""
    path = folder / "made.log"
    number = written(line, megabytes, path)
    seconds = _seconds(*SAMEWIRE, "diagnose", str(path))
    return (
        f"{line.__name__:15} {number:>9} lines {seconds:6.1f} s, memory so far {_peak()} MB at most"
    )


def row(rounds: int) -> Row:
    """Return how long a healthy cluster's log takes, over reading it line by line."""
    ours: list[float] = []
    theirs: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.log"
        written(usual, MEGABYTES, path)
        for _ in range(rounds):
            ours.append(_seconds(*SAMEWIRE, "diagnose", str(path)))
            theirs.append(_seconds(sys.executable, "-c", READ, str(path)))
    more = {"MB/s": round(MEGABYTES / statistics.median(ours)), "MB of memory": _peak()}
    took = {"samewire diagnose": ours, "Python's lines": theirs}
    return Row(f"diagnosis of {MEGABYTES} MB", took, more=more)


def main() -> None:
    """Print a line per log."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else MEGABYTES
    with tempfile.TemporaryDirectory() as folder:
        for line in (usual, unlike, failing, failing_unlike):
            print(measured(line, megabytes, Path(folder)))


if __name__ == "__main__":
    main()
