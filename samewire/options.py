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

InventoryOption = Annotated[
    str,
    typer.Option(
        "--inventory", "-i", help="Inventory of the cluster: a path, or the name of one that ships."
    ),
]
ExtraVarsOption = Annotated[
    list[str] | None,
    typer.Option("--extra-vars", "-e", metavar="KEY=VALUE", help="Variable; VALUE is YAML."),
]
CheckOption = Annotated[
    bool, typer.Option("--check", help="Say what would change, and change nothing.")
]
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
    """Return the variables of KEY=VALUE; raise BadParameter for another form."""
    given: dict[str, Any] = {}
    for assignment in assignments or []:
        key, mark, value = assignment.partition("=")
        if not (mark and key.isidentifier()):
            raise typer.BadParameter(
                f"expected KEY=VALUE, got {assignment}", param_hint="'--extra-vars'"
            )
        try:
            given[key] = yaml.safe_load(value) if value else ""
        except yaml.YAMLError as error:
            said = " ".join(str(getattr(error, "problem", None) or error).split())
            raise typer.BadParameter(
                f"expected a value in YAML for {key}, got {value} ({said})",
                param_hint="'--extra-vars'",
            ) from None
    return given


def has_terminal() -> bool:
    """Tell whether there is a person to ask."""
    return sys.stdin.isatty()


def refuse(reason: object) -> NoReturn:
    """End with one sentence, before anything was changed."""
    typer.echo(str(reason), err=True)
    raise typer.Exit(ExitCode.REFUSED)
