# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The verb status: what a person and a program read, and its exit status."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from rich.console import Console
from typer.testing import CliRunner

from ansible_collections.samewire.vllm.plugins.module_utils import _status
from samewire import status_command
from samewire.cli import app
from samewire.events import Progress
from samewire.run import Ended
from samewire.survey import Survey
from tests.unit.observed import RECORD, STARTING, container, node
from tests.unit.plans import plan

DOWN = {"unreachable": "No route to host"}


def found(head: dict[str, Any], worker: dict[str, Any]) -> dict[str, Any]:
    hosts = {"spark0": head, "spark1": worker}
    return _status.status(_status.Cluster("pair", "spark0", hosts, plan(), RECORD), "NOW")


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Result]:
    """Ask for the state of a cluster whose playbook left it, or left none."""

    def asked(status: dict[str, Any] | None, *arguments: str) -> Result:
        artifacts = {} if status is None else {"samewire_status": status}
        ended = Ended(Progress(artifacts=artifacts), "successful" if status else "failed", "")
        survey = Survey("pair", ended, 1.0, tmp_path / "log")
        monkeypatch.setattr(status_command, "survey", lambda *_: survey)
        return CliRunner().invoke(app, ["status", "-i", "lab", *arguments])

    return asked


def test_plain_lines_and_json(ask: Callable[..., Result]) -> None:
    state = found(node("spark0"), node("spark1"))
    done = ask(state)
    assert (done.exit_code, done.stdout.splitlines()) == (0, _status.report(state))
    done = ask(state, "--json")
    assert (done.exit_code, json.loads(done.stdout)) == (0, state)


@pytest.mark.parametrize(
    ("head", "worker", "code"),
    [
        (node("spark0", server=STARTING), node("spark1"), 1),
        (node("spark0"), DOWN, 1),
        (DOWN, node("spark1"), 4),
    ],
    ids=["starting", "degraded", "unreachable"],
)
def test_exit_status(
    ask: Callable[..., Result], head: dict[str, Any], worker: dict[str, Any], code: int
) -> None:
    assert ask(found(head, worker)).exit_code == code


def test_a_playbook_that_failed(ask: Callable[..., Result]) -> None:
    done = ask(None)
    assert (done.exit_code, done.stdout) == (3, "")
    assert done.stderr.startswith("Ansible ended without saying why.")


def test_help_tells_what_the_exit_status_means() -> None:
    done = CliRunner().invoke(app, ["status", "--help"])
    assert " ".join(done.stdout.split()).endswith(
        "Exit status: 0 serving; 1 not serving, or not as planned; 2 the command line is wrong; 3 refused "
        "before anything was changed; 4 a host is unreachable; 130 interrupted."
    )


def test_a_table_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_command, "is_lively", lambda _: True)
    out = io.StringIO()
    console = Console(
        file=out, width=100, highlight=False, markup=False, emoji=False, soft_wrap=True
    )
    state = found(
        node("spark0", members=["192.168.200.12"]),
        node("spark1", containers={"ray": container(restarts=1, age=4000.0), "vllm": None}),
    )
    status_command.show(console, state)
    assert [line.rstrip() for line in out.getvalue().splitlines()] == TABLE


TABLE = """\
pair degraded  spark1: is not connected to Ray's head from 192.168.200.13, as planned; see docker
logs pair-ray on spark1
host    role    planned              Ray                  vLLM                 GPUs
spark0  head    192.168.200.12       running for 2 min 5  running for 2 min 5  1 GPU, 1.0 of 79.6
                enp1s0f0np0          s                    s                    GiB used
spark1  worker  192.168.200.13       running for 1 h 6                         1 GPU, 1.0 of 79.6
                enp1s0f1np1          min                                       GiB used
vLLM  http://10.1.230.180:8000  tiny; 1 running, 0 waiting; 9 requests done; 144 tokens generated;
last request 2026-11-30T13:01:59Z (200)
Note: spark1: container pair-ray was restarted 1 time since it was started, last 1 h 6 min ago
""".splitlines()
