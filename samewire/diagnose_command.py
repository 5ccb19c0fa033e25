# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The verb diagnose of the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from samewire import locate
from samewire.deploy import DIAGNOSIS_ARTIFACT
from samewire.diagnose import DiagnoseError, report
from samewire.diagnose import diagnose as diagnosed
from samewire.exit_codes import HELP, ExitCode
from samewire.inventory import InventoryError
from samewire.survey import survey
from samewire.view import make_console, show_findings, watching

PLAYBOOK = "samewire.vllm.diagnose"


def diagnose(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="BUNDLE|FILE...", help="Logs, folders of logs, or bundles (.tar.gz) of them."
        ),
    ] = None,
    inventory: Annotated[
        str | None,
        typer.Option(
            "--inventory", "-i", help="Inventory of a cluster, whose logs are collected now."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Ansible's own output, with an inventory.")
    ] = False,
) -> None:
    """Name the cause of a failure from the logs.

    Those of vLLM, Ray, PyTorch, NCCL, Docker and the kernel are known.
    """
    if bool(paths) == (inventory is not None):
        raise typer.BadParameter("expected either --inventory or logs")
    if inventory is not None:
        _show_collected(inventory, as_json=as_json, verbose=verbose)
    else:
        _show_read(paths or [], as_json=as_json)


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("diagnose", epilog=HELP)(diagnose)


def _show_read(paths: list[Path], *, as_json: bool) -> None:
    try:
        result = diagnosed(paths)
    except DiagnoseError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(ExitCode.USAGE) from None
    typer.echo(json.dumps(result, indent=2) if as_json else "\n".join(report(result)))


def _show_collected(named: str, *, as_json: bool, verbose: bool) -> None:
    try:
        inventory = locate.inventory(named)
    except FileNotFoundError as error:
        raise typer.BadParameter(str(error), param_hint="'--inventory'") from None
    console = make_console(stderr=True)
    try:
        with watching(console, raw=verbose, diff=False) as watch:
            asked = survey(PLAYBOOK, inventory, watch)
    except InventoryError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(ExitCode.REFUSED) from None
    made: Mapping[str, Any] | None = asked.ended.progress.artifacts.get(DIAGNOSIS_ARTIFACT)
    code = asked.ended.exit_code
    if made is not None:
        typer.echo(
            json.dumps(made["diagnosis"], indent=2) if as_json else "\n".join(made["report"])
        )
    if code not in {ExitCode.DONE, ExitCode.INTERRUPTED}:
        show_findings(console, asked.ended.progress, asked.log)
    raise typer.Exit(code)
