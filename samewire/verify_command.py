# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The verb verify of the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import typer

from ansible_collections.samewire.vllm.plugins.module_utils import _plan
from samewire.exit_codes import MEANING, ExitCode
from samewire.inventory import InventoryError
from samewire.options import (
    ExtraVarsOption,
    InventoryOption,
    JsonOption,
    RawOption,
    located,
    refuse,
    variables,
    without_answer,
)
from samewire.survey import survey
from samewire.view import make_console, watching

PLAYBOOK = "samewire.vllm.verify_wire"
ARTIFACT = "samewire_wire"
SCHEMA = "samewire.verify/1"

SAID = {
    **MEANING,
    ExitCode.DONE: "the wire joins all hosts as planned",
    ExitCode.FAILED: "it does not",
    ExitCode.REFUSED: "refused before it was tried",
}
HELP = "Exit status: " + "; ".join(f"{code:d} {text}" for code, text in SAID.items()) + "."


def verify(
    inventory: InventoryOption,
    extra_vars: ExtraVarsOption = None,
    as_json: JsonOption = False,
    verbose: RawOption = False,
) -> None:
    """Plan the wire between the hosts, and prove it.

    Connections, routes, packets of full size, addresses and clocks are tried; what runs on the wire is what
    samewire status looks at. Nothing is changed.

    Example: samewire verify -i inventories/mine
    """
    console = make_console(stderr=as_json)
    given = variables(extra_vars)
    try:
        with watching(console, raw=verbose, diff=False) as watch:
            asked = survey(PLAYBOOK, located(inventory), watch, given)
    except InventoryError as error:
        refuse(error)
    found: Mapping[str, Any] | None = asked.ended.progress.artifacts.get(ARTIFACT)
    if found is None:
        without_answer(asked)
    if as_json:
        typer.echo(json.dumps(_document(asked.cluster, found), indent=2))
    else:
        _show(found)
    raise typer.Exit(ExitCode.FAILED if found["problems"] else ExitCode.DONE)


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("verify", epilog=HELP)(verify)


def _document(cluster: str, found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "cluster": cluster,
        "whole": not found["problems"],
        "problems": found["problems"],
        "notes": found["notes"],
        "clock_offsets": found["clock_offsets"],
        "plan": found["plan"],
    }


def _show(found: Mapping[str, Any]) -> None:
    console = make_console()
    plan, problems = found["plan"], found["problems"]
    for problem in problems:
        console.print(problem, style="bold red")
    for warning in plan["warnings"]:
        console.print(f"Note: {warning['message']}")
    console.print(_plan.summary(plan))
    if problems:
        return
    hosts = len(plan["hosts"])
    pairs = hosts * (hosts - 1)
    console.print(
        f"It joins all {hosts} hosts as planned: {pairs} ordered pairs were tried."
        if pairs
        else "There is one host, and so nothing to join."
    )
