# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The parts of a server on all hosts begin and end together; each host is an address of the loopback."""

from __future__ import annotations

import pathlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.unit.waiting import until

FOLDER = pathlib.Path(__file__).parents[3] / "roles/ray_node/files/node"
HEAD, FIRST, SECOND, STRANGER = (f"127.0.0.{number}" for number in (11, 12, 13, 14))
SERVER = "print('serving', flush=True); import signal; signal.pause()"


class Host:
    """One host's container: its output, and its end."""

    def __init__(self, folder: pathlib.Path, *arguments: str, server: str = SERVER) -> None:
        self._log = folder / f"{time.monotonic_ns()}.log"
        state = folder / f"{arguments[-1]}.json"
        program = (
            "import bounded_starts, pathlib, runpy, sys; "
            f"bounded_starts.restrain.__defaults__ = (pathlib.Path({str(state)!r}),); "
            "runpy.run_path('ranks.py', run_name='__main__')"
        )
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", program, *arguments, "--", sys.executable, "-c", server],
                cwd=FOLDER,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def said(self) -> list[str]:
        return self._log.read_text().splitlines()

    def says(self, line: str) -> None:
        until(lambda: line in self.said(), 20)

    def ends(self) -> int:
        return self.process.wait(20)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(20)


class Hosts:
    """Hosts of one cluster; their rank is in the order of their addresses."""

    def __init__(self, folder: pathlib.Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        with socket.create_server((HEAD, 0)) as free:
            self._end = f"{HEAD}:{free.getsockname()[1]}"

    def _host(self, *arguments: str, **more: str) -> Host:
        host = Host(self._folder, *arguments, **more)
        self._stack.callback(host.kill)
        return host

    def head(self, *expected: str, **more: str) -> Host:
        return self._host("lead", "--listen", self._end, "--expect", ",".join(expected), **more)

    def worker(self, address: str, **more: str) -> Host:
        return self._host("follow", "--head", self._end, "--own", address, **more)


@pytest.fixture
def hosts(tmp_path: pathlib.Path) -> Iterator[Hosts]:
    with ExitStack() as stack:
        yield Hosts(tmp_path, stack)


def test_nobody_begins_before_all_are_there(hosts: Hosts) -> None:
    head = hosts.head(FIRST, SECOND)
    first = hosts.worker(FIRST)
    head.says(f"samewire: waiting for the planned nodes: {SECOND} has not joined")
    assert "serving" not in head.said() + first.said()
    second = hosts.worker(SECOND)
    for host in (head, first, second):
        host.says("serving")


def test_a_worker_waits_for_a_head_that_comes_later(hosts: Hosts) -> None:
    worker = hosts.worker(FIRST)
    worker.says(
        f"samewire: waiting for the planned nodes: the head at {HEAD} has not said that all are there"
    )
    hosts.head(FIRST).says("serving")
    worker.says("serving")


def test_who_leaves_while_others_are_awaited_is_awaited_again(hosts: Hosts) -> None:
    head = hosts.head(FIRST, SECOND)
    first = hosts.worker(FIRST)
    head.says(f"samewire: waiting for the planned nodes: {SECOND} has not joined")
    first.kill()
    until(lambda: "; " in head.said()[-1], 20)
    for address in (SECOND, FIRST):
        hosts.worker(address)
    head.says("serving")


def test_all_end_with_one_of_them(hosts: Hosts) -> None:
    head, first, second = hosts.head(FIRST, SECOND), hosts.worker(FIRST), hosts.worker(SECOND)
    for host in (head, first, second):
        host.says("serving")
    first.kill()
    assert head.ends() == second.ends() == 143
    head.says(f"samewire: lost {FIRST}; ending the server, to begin anew")
    second.says(f"samewire: lost the head at {HEAD}; ending the server, to begin anew")


def test_the_end_of_a_server_is_its_containers_own(hosts: Hosts) -> None:
    head = hosts.head(FIRST, server="import sys; sys.exit(3)")
    worker = hosts.worker(FIRST)
    assert (head.ends(), worker.ends()) == (3, 143)


def test_a_host_that_begins_anew_unnoticed_ends_all(hosts: Hosts) -> None:
    head = hosts.head(FIRST)
    hosts.worker(FIRST)
    head.says("serving")
    # The end of the former connection, as after a loss of power, has not come.
    hosts.worker(FIRST)
    assert head.ends() == 143
    head.says(f"samewire: {FIRST} has begun anew; ending the server, to begin anew")


def test_a_stranger_is_turned_away(hosts: Hosts) -> None:
    head = hosts.head(FIRST)
    hosts.worker(STRANGER)
    head.says(f"samewire: {STRANGER} is not in the plan and was turned away")
    hosts.worker(FIRST)
    head.says("serving")
    head.says(f"samewire: {STRANGER} is not in the plan and was turned away")
    assert head.process.poll() is None


def test_a_head_alone_begins_at_once(tmp_path: pathlib.Path) -> None:
    with socket.create_server((HEAD, 0)) as free:
        end = f"{HEAD}:{free.getsockname()[1]}"
    head = Host(tmp_path, "lead", "--listen", end)
    head.says("serving")
    head.kill()


def test_a_port_that_is_taken_is_named_and_awaited(hosts: Hosts) -> None:
    address, port = hosts._end.split(":")
    with socket.create_server((address, int(port))):
        head = hosts.head(FIRST)
        said = (
            f"samewire: cannot listen on {address} port {port}: [Errno 98] Address already in use"
        )
        until(lambda: any(line.startswith(said) for line in head.said()), 20)
    hosts.worker(FIRST)
    head.says("serving")
