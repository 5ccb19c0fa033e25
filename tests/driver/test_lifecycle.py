# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The verbs stop, start, restart and teardown, from recorded runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ansible_runner
import pytest
from typer.testing import CliRunner

from samewire import cli, lifecycle_command
from tests.driver.conftest import Recorded, job_events

Asked = Callable[..., tuple[int, str]]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return what ansible-runner is asked for."""
    monkeypatch.setattr("samewire.deploy.cluster_name", lambda *_: "example")
    monkeypatch.setattr("samewire.lifecycle_command.cluster_name", lambda *_: "example")
    return []


@pytest.fixture
def ask(data: Path, runs: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Return a function that runs a verb by a recorded run: exit status and what a person reads."""

    def asked(
        name: str, *options: str, status: str = "successful", answer: str | None = None
    ) -> tuple[int, str]:
        events = job_events(name)

        def run(event_handler: Callable[[dict[str, Any]], bool], **given: Any) -> Recorded:
            runs.append(given)
            for event in events:
                event_handler(event)
            return Recorded(status, "")

        monkeypatch.setattr(ansible_runner, "run", run)
        command = [options[0], "-i", str(data / "hosts.yml"), *options[1:]]
        result = CliRunner().invoke(cli.app, command, input=answer, catch_exceptions=False)
        return result.exit_code, result.output

    return asked


@pytest.mark.parametrize(
    ("verb", "said"),
    [
        ("stop", "stopped; samewire start brings it back"),
        ("start", "serving"),
        ("restart", "serving again"),
    ],
)
def test_a_verb_runs_its_playbook(
    ask: Asked, runs: list[dict[str, Any]], plain: Callable[[str], str], verb: str, said: str
) -> None:
    code, text = ask("done", verb, "-e", "a=1")
    assert (code, plain(text).splitlines()[-1]) == (0, f"example: {said} (N s, 6 changed).")
    assert (runs[0]["playbook"], runs[0]["extravars"]) == (f"samewire.vllm.{verb}", {"a": 1})


def test_json(ask: Asked) -> None:
    code, text = ask("done", "start", "--json")
    document = json.loads(text[text.index("{") :])
    assert (code, document["schema"], document["verb"]) == (0, "samewire.lifecycle/1", "start")
    assert (document["cluster"], document["changed"], document["findings"]) == ("example", 6, [])
    assert (document["status"], "record" in document) == (None, False)


def test_check_mode(ask: Asked, runs: list[dict[str, Any]]) -> None:
    code, text = ask("done", "stop", "--check")
    assert (code, text.splitlines()[-1]) == (0, "example: 6 tasks would change something.")
    assert runs[0]["cmdline"] == "--check"


def test_a_failure(ask: Asked, plain: Callable[[str], str]) -> None:
    code, text = ask("refused", "start", status="failed")
    assert code == 3
    assert (
        plain(text).splitlines()[-1] == "example: refused before anything was changed, after N s."
    )


def test_an_interrupt(ask: Asked, plain: Callable[[str], str]) -> None:
    code, text = ask("done", "restart", status="canceled")
    assert (code, plain(text).splitlines()[-1]) == (
        130,
        "Interrupted after N s: some containers may be up and others down; samewire status says which, "
        "samewire restart goes on from there.",
    )


def test_a_teardown_that_nobody_confirms(ask: Asked, runs: list[dict[str, Any]]) -> None:
    assert ask("done", "teardown") == (
        3,
        "example is torn down only when that is confirmed: expected a terminal to ask on, got none; add "
        "--yes.\n",
    )
    assert runs == []


@pytest.mark.parametrize(
    ("options", "images"),
    [(("--yes",), False), (("--yes", "--images"), True), (("--check",), False)],
)
def test_a_confirmed_teardown(
    ask: Asked, runs: list[dict[str, Any]], options: tuple[str, ...], images: bool
) -> None:
    assert ask("done", "teardown", *options)[0] == 0
    assert runs[0]["playbook"] == "samewire.vllm.teardown"
    assert runs[0]["extravars"] == {"teardown_confirm": "example", "teardown_images": images}


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 3), ("\n", 3)])
def test_a_teardown_asks_on_a_terminal(
    ask: Asked,
    runs: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    code: int,
) -> None:
    monkeypatch.setattr(lifecycle_command, "has_terminal", lambda: True)
    got, text = ask("done", "teardown", answer=answer)
    assert got == code
    assert text.startswith("Remove the containers and files of example from all its hosts? [y/N]: ")
    assert len(runs) == (code == 0)
    assert (text.splitlines()[-1] == "example stays as it is.") == (code == 3)


@pytest.mark.parametrize("verb", ["status", "stop", "start", "restart", "teardown"])
def test_help_has_an_example(verb: str) -> None:
    result = CliRunner().invoke(cli.app, [verb, "--help"])
    assert f"Example: samewire {verb} -i inventories/mine" in result.output
