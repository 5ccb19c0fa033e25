# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Recorded runs, and a command line that plays them instead of starting Ansible."""

from __future__ import annotations

import io
import json
import re
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ansible_runner
import pytest
from typer.testing import CliRunner

from samewire import cli, locate
from samewire.events import Event, Progress, advance

DATA = Path(__file__).parent / "data"


@dataclass
class Recorded:
    """What ansible-runner returns, of a recorded run."""

    status: str
    text: str

    @property
    def stdout(self) -> io.StringIO:
        return io.StringIO(self.text)


def job_events(name: str) -> list[dict[str, Any]]:
    lines = (DATA / "events" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> None:
    """Let Ctrl-C reach the programs of the tests, also where a shell has started these in its background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def progress_of() -> Callable[[str], Progress]:
    """Return a function from the name of a recorded run to the progress at its end."""

    def progress(name: str) -> Progress:
        reached = Progress()
        for event in job_events(name):
            reached = advance(reached, Event.parse(event))
        return reached

    return progress


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that stands in for the collection; the driver's files go to the test's."""
    monkeypatch.setattr(locate, "collection", lambda: DATA)
    monkeypatch.setenv("HOME", str(tmp_path))
    return DATA


@pytest.fixture
def deploy(data: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """Return a function that deploys by a recorded run: exit status and what a person reads."""
    monkeypatch.setattr("samewire.deploy.cluster_name", lambda *_: "example")

    def play(name: str, *options: str, status: str = "successful") -> tuple[int, str]:
        events = job_events(name)

        def run(event_handler: Callable[[dict[str, Any]], bool], **_: Any) -> Recorded:
            for event in events:
                event_handler(event)
            return Recorded(status, "".join(f"{event['stdout']}\n" for event in events))

        monkeypatch.setattr(ansible_runner, "run", run)
        command = ["deploy", "-i", str(data / "hosts.yml"), *options]
        result = CliRunner().invoke(cli.app, command, catch_exceptions=False)
        return result.exit_code, result.output

    return play


@pytest.fixture
def plain(tmp_path: Path) -> Callable[[str], str]:
    """Return a function that puts a stand-in for what differs between runs."""

    def replace(text: str) -> str:
        text = text.replace(str(tmp_path), "HOME").replace(str(DATA), "DATA")
        text = re.sub(r"\d\d:\d\d:\d\d", "TIME", text)
        return re.sub(r"\d+\.\d s", "N s", text)

    return replace
