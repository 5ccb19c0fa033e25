# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The verbs plan and facts of the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from samewire import facts, locate, page
from samewire.exit_codes import HELP, ExitCode
from samewire.inventory import InventoryError
from samewire.options import RawOption, without_answer
from samewire.plan import table
from samewire.survey import Survey, survey
from samewire.view import make_console, watching

PLAN_PLAYBOOK = "samewire.vllm.plan"
FACTS_PLAYBOOK = "samewire.vllm.facts"


def plan(
    inventory: Annotated[
        str | None,
        typer.Option("--inventory", "-i", help="Inventory of the cluster, whose hosts are asked."),
    ] = None,
    facts_file: Annotated[
        Path | None,
        typer.Option(
            "--facts", exists=True, dir_okay=False, help="Saved facts of the hosts; none is asked."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="OUT", dir_okay=False, help="Write the plan as a page."),
    ] = None,
    verbose: RawOption = False,
) -> None:
    """Plan the interconnect of a cluster and say why.

    Nothing is changed on any host.
    """
    if (inventory is None) == (facts_file is None):
        raise typer.BadParameter("expected one of --inventory and --facts")
    try:
        if facts_file is not None:
            known = facts.load(facts_file)
        else:
            known = _asked(PLAN_PLAYBOOK, str(inventory), verbose, quiet=as_json)[1]
    except facts.FactsError as error:
        _wrong(error)
    made = known.plan()
    if html is not None:
        _write(html, page.render(made, known))
    _show(made, as_json=as_json, html=html)
    raise typer.Exit(_exit_code(made))


def save_facts(
    inventory: Annotated[str, typer.Option("--inventory", "-i", help="Inventory of the cluster.")],
    file: Annotated[
        Path, typer.Option("--save", metavar="FILE", dir_okay=False, help="Where to write them.")
    ],
    verbose: RawOption = False,
) -> None:
    """Save the facts of a cluster's hosts for a report.

    MAC addresses and serial numbers are left out.
    """
    document, known = _asked(FACTS_PLAYBOOK, inventory, verbose, quiet=False)
    _write(file, facts.render(document))
    typer.echo(f"The facts of {len(known.hosts)} hosts are in {file}.")


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.command("plan", epilog=HELP)(plan)
    app.command("facts", epilog=HELP)(save_facts)


def _asked(
    playbook: str, named: str, verbose: bool, *, quiet: bool
) -> tuple[dict[str, Any], facts.Facts]:
    try:
        inventory = locate.inventory(named)
    except FileNotFoundError as error:
        raise typer.BadParameter(str(error), param_hint="'--inventory'") from None
    console = make_console(stderr=quiet)
    try:
        with watching(console, raw=verbose, diff=False) as watch:
            asked: Survey = survey(playbook, inventory, watch)
    except InventoryError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(ExitCode.REFUSED) from None
    if asked.document is None:
        without_answer(asked)
    return asked.document, facts.parse(
        asked.document, f"What the hosts of {asked.cluster} say", asked.cluster
    )


def _exit_code(made: dict[str, Any]) -> ExitCode:
    if "error" not in made:
        return ExitCode.DONE
    # A pin is the user's input; all else is how the hosts are cabled.
    return ExitCode.USAGE if made["error"]["code"] == "invalid_pin" else ExitCode.REFUSED


def _show(made: dict[str, Any], *, as_json: bool, html: Path | None) -> None:
    if as_json:
        typer.echo(json.dumps(made, indent=2))
    elif "error" in made:
        typer.echo(made["error"]["message"], err=True)
    else:
        typer.echo("\n".join(table(made)))
    if html is not None:
        typer.echo(f"The plan as a page: {html}", err=as_json)


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be written: {error.strerror}") from None


def _wrong(error: Exception) -> NoReturn:
    typer.echo(str(error), err=True)
    raise typer.Exit(ExitCode.USAGE)
