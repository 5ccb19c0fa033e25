# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The running lab that the tests of this folder look at."""

import docker
import pytest
from docker import DockerClient

from samewire_lab import spec, status
from samewire_lab.state import State
from tests.lab.shell import Shell


@pytest.fixture(scope="session")
def state() -> State:
    return State()


@pytest.fixture(scope="session", autouse=True)
def _lab_is_up(state: State) -> None:
    if not status.read(state).up:
        pytest.exit("The lab is not up; run `samewire lab up`.", returncode=1)


@pytest.fixture(scope="session")
def client() -> DockerClient:
    return docker.from_env()


@pytest.fixture(scope="session")
def shells(state: State) -> tuple[Shell, Shell]:
    first, second = (Shell(state, host) for host in spec.HOSTS)
    return first, second


Rows = list[tuple[str, ...]]
_ROWS = pytest.StashKey[Rows]()


@pytest.fixture(scope="session")
def rows(pytestconfig: pytest.Config) -> Rows:
    """Collect what is measured: the case, and what became of it."""
    return pytestconfig.stash.setdefault(_ROWS, [])


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print what was measured as a table."""
    found = config.stash.get(_ROWS, [])
    if found:
        terminalreporter.section("measured")
        for row in found:
            terminalreporter.write_line(f"| {' | '.join(row)} |")
