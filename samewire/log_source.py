# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The programs that fetch lines of containers: one a container, over the connection of its host."""

from __future__ import annotations

import io
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from queue import Queue
from types import TracebackType
from typing import IO, cast

from samewire import logs
from samewire.connection import Connection, Unreached

AGAIN_S = 3.0
ENDING_S = 2.0

Say = Callable[[str], None]


class SourceProblem(RuntimeError):
    """A host that does not give what is asked for; the message is one sentence."""


def containers(
    connections: Sequence[Connection], cluster: str, folder: Path
) -> dict[str, list[str] | str]:
    """Return, by host, the names of its containers of a cluster, or the sentence that says why not.

    folder: where ssh is started, as relative paths of an inventory begin there.
    """
    script = logs.list_script(cluster)

    def names(connection: Connection) -> list[str] | str:
        try:
            done = connection.run(script, folder)
        except Unreached as problem:
            return str(problem)
        if done.returncode:
            return unread(connection, done.returncode, done.stderr or done.stdout)
        return logs.listed(done.stdout)

    with ThreadPoolExecutor(max_workers=16) as pool:
        hosts = [connection.host for connection in connections]
        return dict(zip(hosts, pool.map(names, connections), strict=True))


def unread(connection: Connection, code: int, said: str) -> str:
    """Return the sentence for a program that ended with a code other than 0."""
    reason = (said.strip().splitlines() or ["it said nothing"])[-1].strip()
    return connection.unreached(code, said) or (
        f"{connection.host}: its containers cannot be read, expected that Docker answers there, got: "
        f"{reason.rstrip('.')}; let its user use Docker, or set ansible_become: true in the inventory"
    )


class Source:
    """The lines of one container, to be iterated once; within a block, whose end ends its program."""

    def __init__(
        self,
        connection: Connection,
        reader: logs.Reader,
        container: str,
        wish: logs.Wish,
        folder: Path,
    ) -> None:
        self.connection = connection
        self._read = reader
        self._stray = ""
        # A pipe that nobody reads would stop the program once it is full.
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._program = subprocess.Popen(
            connection.argv(logs.log_script(container, wish)),
            cwd=folder,
            # Its end tells the host that nobody listens any more.
            stdin=subprocess.PIPE if wish.follow else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._said,
            # Ctrl-C is for this process, which ends the others in order.
            start_new_session=True,
        )
        # Only this ends a line: a bar of progress is full of carriage returns.
        self._lines = io.TextIOWrapper(
            cast(IO[bytes], self._program.stdout), "utf-8", errors="replace", newline="\n"
        )

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.hang_up()
        self.end(time.monotonic() + ENDING_S)
        self._lines.close()
        self._said.close()

    def hang_up(self) -> None:
        """Ask the program to end."""
        if self._program.stdin is None:
            self._program.terminate()
            return
        with suppress(OSError):
            self._program.stdin.close()

    def end(self, deadline: float) -> None:
        """Wait for the end of a program that was asked to, and kill it after the deadline."""
        try:
            self._program.wait(max(deadline - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            self._program.kill()
            self._program.wait()

    def wait_for_host(self) -> None:
        """Return once the host has begun to answer, or has failed to."""
        self._stray = self._lines.readline().strip()

    def __iter__(self) -> Iterator[logs.Line]:
        for raw in self._lines:
            line = self._read(raw)
            if line is not None:
                yield line
            elif raw.strip():
                self._stray = raw.strip()

    def failure(self) -> str:
        """Return, after the last line, the sentence for a program that failed, else nothing."""
        code = self._program.wait()
        if code == 0:
            return ""
        self._said.seek(0)
        return unread(
            self.connection, code, self._said.read().decode(errors="replace") or self._stray
        )


class Follower:
    """Puts the lines of one container into an inbox, over all ends of it and of the connection."""

    def __init__(
        self,
        start: Callable[[logs.Wish], Source],
        wish: logs.Wish,
        inbox: Queue[logs.Line | None],
        say: Say,
    ) -> None:
        self._start = start
        self._wish = wish
        self._inbox = inbox
        self._say = say
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._source: Source | None = None
        self._thread.start()

    def hang_up(self) -> None:
        """Ask it to end, whatever it waits for."""
        self._stop.set()
        if self._source is not None:
            self._source.hang_up()

    def end(self, deadline: float) -> None:
        """Wait for the end of its program, and kill that after the deadline."""
        if self._source is not None:
            self._source.end(deadline)

    def _run(self) -> None:
        wish, last, connected, lost = self._wish, "", False, False
        while not self._stop.is_set():
            before = last
            with self._start(wish) as source:
                self._source = source
                if self._stop.is_set():
                    return
                source.wait_for_host()
                if not connected:
                    self._inbox.put(None)
                    connected = True
                for line in source:
                    # Docker gives the line of that very moment again.
                    if line.time > before:
                        self._inbox.put(line)
                    last, lost = max(last, line.time), False
                failure = "" if self._stop.is_set() else source.failure()
            if "cannot be reached" in failure and not lost:
                lost = True
                self._say(f"{failure} (trying again)")
            if last:
                wish = replace(wish, tail=None, since=last)
            self._stop.wait(AGAIN_S)
