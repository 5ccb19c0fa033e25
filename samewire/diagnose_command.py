# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The verb diagnose of the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from samewire.diagnose import DiagnoseError, report
from samewire.diagnose import diagnose as diagnosed
from samewire.exit_codes import HELP, ExitCode


def diagnose(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="BUNDLE|FILE...", help="Logs, folders of logs, or bundles (.tar.gz) of them."
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Name the cause of a failure from the logs of vLLM, Ray, PyTorch, NCCL and Docker."""
    try:
        result = diagnosed(paths)
    except DiagnoseError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(ExitCode.USAGE) from None
    typer.echo(json.dumps(result, indent=2) if as_json else "\n".join(report(result)))


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("diagnose", epilog=HELP)(diagnose)
