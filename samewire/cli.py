# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The command line: samewire."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Annotated

import typer

from samewire import (
    api,
    bench_command,
    diagnose_command,
    init_command,
    lifecycle_command,
    logs_command,
    plan_command,
    record,
    status_command,
    verify_command,
)
from samewire.chat import ask
from samewire.deploy import Deployment, deploy
from samewire.exit_codes import HELP, MEANING, ExitCode
from samewire.inventory import InventoryError
from samewire.options import (
    ApiKeyOption,
    CheckOption,
    ExtraVarsOption,
    InventoryOption,
    JsonOption,
    VerboseOption,
    located,
    refuse,
    variables,
)
from samewire.run import Request
from samewire.view import make_console, pace, show_findings, show_record, watching
from samewire_lab.cli import app as lab_app
from samewire_lab.progress import seconds

PLAYBOOK = "samewire.vllm.deploy"

# Plain help and plain errors: the same text on every terminal.
app = typer.Typer(
    name="samewire",
    help="Multi-node vLLM on Ray in Docker, with every layer on the same wire.",
    epilog=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(lab_app, name="lab", help="A cluster of two hosts on this machine, to try and test.")


def main() -> None:
    """Run the command line of this process."""
    app()


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"samewire {version('samewire')}")
        raise typer.Exit


@app.callback()
def _common(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


@app.command("deploy", epilog=HELP)
def _deploy(
    inventory: InventoryOption,
    extra_vars: ExtraVarsOption = None,
    check: CheckOption = False,
    diff: Annotated[bool, typer.Option("--diff", help="Show what changes in files.")] = False,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Deploy the cluster of an inventory and prove that it serves."""
    console = make_console(stderr=as_json)
    request = Request(
        playbook=PLAYBOOK,
        inventory=located(inventory),
        extra_vars=variables(extra_vars),
        check=check,
        diff=diff,
        verbosity=max(verbose - 1, 0),
        pace=pace(console),
    )
    try:
        with watching(console, raw=verbose > 0, diff=diff) as watch:
            deployment = deploy(request, watch)
    except InventoryError as error:
        refuse(error)
    if as_json:
        typer.echo(json.dumps(deployment.to_json(), indent=2))
    else:
        _show(deployment, check=check)
    raise typer.Exit(deployment.ended.exit_code)


init_command.register(app)
plan_command.register(app)
verify_command.register(app)
diagnose_command.register(app)
status_command.register(app)
lifecycle_command.register(app)
logs_command.register(app)
bench_command.register(app)


@app.command("chat", epilog=HELP)
def _chat(
    inventory: InventoryOption,
    prompt: Annotated[str, typer.Argument(help="What to ask.")],
    api_key: ApiKeyOption = None,
) -> None:
    """Ask the model that was deployed from an inventory."""
    try:
        deployed = api.of(located(inventory), api_key)
    except (InventoryError, record.RecordError) as error:
        refuse(error)
    try:
        typer.echo(ask(deployed, prompt))
    except api.ApiError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(ExitCode.FAILED) from None


def _show(deployment: Deployment, *, check: bool) -> None:
    console = make_console()
    code = deployment.ended.exit_code
    took = seconds(deployment.seconds)
    progress = deployment.ended.progress
    if code is ExitCode.INTERRUPTED:
        console.print(
            f"Interrupted after {took}: what was started on the hosts goes on as it is; "
            "deploy again to go on from there."
        )
    elif code is not ExitCode.DONE:
        show_findings(console, progress, deployment.log)
        console.print(f"{deployment.cluster}: {MEANING[code]}, after {took}.")
    elif check:
        console.print(f"{deployment.cluster}: {progress.changed} tasks would change something.")
    else:
        if (deployed := deployment.record) is not None:
            show_record(
                console,
                deployed,
                deployment.folder / "record.json",
                record.key_file(deployment.folder),
                record.certificate_file(deployment.folder),
                new_key=deployment.new_key,
            )
        console.print(f"{deployment.cluster}: done in {took}, {progress.changed} changed.")
