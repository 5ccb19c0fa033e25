# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the verbs that run a playbook on an inventory have in common on the command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
import yaml

from samewire import locate
from samewire.exit_codes import ExitCode
from samewire.survey import Survey
from samewire.view import make_console, show_findings

InventoryOption = Annotated[
    str,
    typer.Option(
        "--inventory", "-i", help="Inventory of the cluster: a path, or the name of one that ships."
    ),
]
ExtraVarsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--extra-vars",
        "-e",
        metavar="KEY=VALUE",
        help="Variable; also {KEY: VALUE, ...} or @FILE, in YAML.",
    ),
]
CheckOption = Annotated[
    bool, typer.Option("--check", help="Say what would change, and change nothing.")
]
RawOption = Annotated[bool, typer.Option("--verbose", "-v", help="Ansible's own output.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
ApiKeyOption = Annotated[
    str | None,
    typer.Option(
        "--api-key",
        envvar="SAMEWIRE_API_KEY",
        help="Key of the API; left out, that of the deployment.",
    ),
]
VerboseOption = Annotated[
    int, typer.Option("--verbose", "-v", count=True, help="Ansible's own output; -vv for more.")
]


def located(named: str) -> Path:
    """Return the path of an inventory; raise BadParameter where there is none."""
    try:
        return locate.inventory(named)
    except FileNotFoundError as error:
        raise typer.BadParameter(str(error), param_hint="'--inventory'") from None


def variables(assignments: list[str] | None) -> dict[str, Any]:
    """Return the variables of KEY=VALUE, of a mapping or of @FILE; raise BadParameter for another form.

    The forms are those of ansible-playbook.
    """
    given: dict[str, Any] = {}
    for assignment in assignments or []:
        if assignment.startswith("{"):
            given |= _mapping(assignment, "a mapping")
        elif assignment.startswith("@"):
            given |= _mapping(_text(assignment[1:]), f"a mapping in {assignment[1:]}")
        else:
            key, mark, value = assignment.partition("=")
            if not (mark and key.isidentifier()):
                raise _bad(f"expected KEY=VALUE, a mapping or @FILE, got {assignment}")
            given[key] = _yaml(value, f"a value in YAML for {key}") if value else ""
    return given


def _mapping(text: str, what: str) -> dict[str, Any]:
    found = _yaml(text, what)
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise _bad(f"expected {what} with names of variables, got {str(found)[:60]}")
    return found


def _yaml(text: str, what: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        said = " ".join(str(getattr(error, "problem", None) or error).split())
        raise _bad(f"expected {what}, got {text} ({said})") from None


def _text(file: str) -> str:
    try:
        return Path(file).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _bad(f"expected a file with variables, got {file} ({error})") from None


def _bad(sentence: str) -> typer.BadParameter:
    return typer.BadParameter(sentence, param_hint="'--extra-vars'")


def has_terminal() -> bool:
    """Tell whether there is a person to ask."""
    return sys.stdin.isatty()


def without_answer(asked: Survey) -> NoReturn:
    """End the command of a run that gave no answer, with what went wrong and the exit status of the run."""
    if asked.ended.exit_code is not ExitCode.INTERRUPTED:
        show_findings(make_console(stderr=True), asked.ended.progress, asked.log)
    raise typer.Exit(asked.ended.exit_code or ExitCode.FAILED)


def refuse(reason: object) -> NoReturn:
    """End with one sentence, before anything was changed."""
    typer.echo(str(reason), err=True)
    raise typer.Exit(ExitCode.REFUSED)
