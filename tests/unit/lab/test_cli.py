# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of the lab end as one sentence on standard error and exit code 1."""

import docker.errors
import pytest
from typer.testing import CliRunner

from samewire_lab import cli, lab
from samewire_lab.errors import LabError
from samewire_lab.progress import Progress
from samewire_lab.state import State


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (LabError("Port 5000 is taken."), "Error: Port 5000 is taken.\n"),
        (
            docker.errors.DockerException("no such network"),
            "Error: Docker Engine on this machine refused: no such network\n",
        ),
    ],
)
@pytest.mark.parametrize("command", ["up", "down"])
def test_one_sentence(
    monkeypatch: pytest.MonkeyPatch, command: str, error: Exception, sentence: str
) -> None:
    def fail(state: State, progress: Progress, **_options: bool) -> None:
        raise error

    monkeypatch.setattr(lab, command, fail)
    done = CliRunner().invoke(cli.app, [command])
    assert done.exit_code == 1
    assert done.stderr == sentence
    assert done.stdout == ""


def test_two_commands_at_once(state: State) -> None:
    with (
        state.locked(),
        pytest.raises(
            LabError, match=r"^Another lab command is running; wait until it has ended\.$"
        ),
        state.locked(),
    ):
        pass
