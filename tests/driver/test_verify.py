# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The verb verify: what a person and a program read, and its exit status."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from samewire import verify_command
from samewire.cli import app
from samewire.events import Progress
from samewire.run import Ended
from samewire.survey import Survey
from tests.unit.plans import plan

WHOLE: dict[str, Any] = {
    "problems": [],
    "notes": [],
    "clock_offsets": {"spark0": {"spark1": 0.002}},
    "plan": {**plan(), "warnings": [{"message": "spark0 has a second address."}]},
}
BROKEN = {**WHOLE, "problems": ["spark0 to spark1: packets of 9000 bytes are lost"]}
WIRE = (
    "wire: 192.168.200.0/24, TCP sockets, MTU 9000: spark0 192.168.200.12 on enp1s0f0np0; spark1 "
    "192.168.200.13 on enp1s0f1np1"
)


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Result]:
    """Verify the wire of a cluster whose playbook left a verdict, or left none."""

    def asked(verdict: dict[str, Any] | None, *arguments: str) -> Result:
        artifacts = {} if verdict is None else {"samewire_wire": verdict}
        ended = Ended(Progress(artifacts=artifacts), "failed", "")
        survey = Survey("pair", ended, 1.0, tmp_path / "log")
        monkeypatch.setattr(verify_command, "survey", lambda *_: survey)
        return CliRunner().invoke(app, ["verify", "-i", "lab", *arguments])

    return asked


def test_a_wire_that_is_whole(ask: Callable[..., Result]) -> None:
    done = ask(WHOLE)
    assert (done.exit_code, done.stdout.splitlines()) == (
        0,
        [
            "Note: spark0 has a second address.",
            WIRE,
            "It joins all 2 hosts as planned: 2 ordered pairs were tried.",
        ],
    )


def test_a_broken_wire(ask: Callable[..., Result]) -> None:
    done = ask(BROKEN)
    assert done.exit_code == 1
    assert done.stdout.splitlines()[0] == "spark0 to spark1: packets of 9000 bytes are lost"
    assert done.stdout.splitlines()[-1] == WIRE


@pytest.mark.parametrize("verdict", [WHOLE, BROKEN])
def test_what_a_program_reads(ask: Callable[..., Result], verdict: dict[str, Any]) -> None:
    done = ask(verdict, "--json")
    whole = not verdict["problems"]
    assert json.loads(done.stdout) == {
        "schema": "samewire.verify/1",
        "cluster": "pair",
        "whole": whole,
        **verdict,
    }
    assert done.exit_code == (0 if whole else 1)


def test_a_run_that_came_to_no_verdict(ask: Callable[..., Result]) -> None:
    done = ask(None)
    assert (done.exit_code, done.stdout) == (3, "")
    assert done.stderr.startswith("Ansible ended without saying why.")


def test_help_tells_what_the_exit_status_means() -> None:
    done = CliRunner().invoke(app, ["verify", "--help"])
    assert " ".join(done.stdout.split()).endswith(
        "Exit status: 0 the wire joins all hosts as planned; 1 it does not; 2 the command line is wrong; 3 "
        "refused before it was tried; 4 a host is unreachable; 130 interrupted."
    )
