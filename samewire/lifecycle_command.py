# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The verbs stop, start, restart and teardown of the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from samewire import locate
from samewire.deploy import Deployment, deploy
from samewire.exit_codes import HELP, MEANING, ExitCode
from samewire.inventory import InventoryError, cluster_name
from samewire.options import (
    CheckOption,
    ExtraVarsOption,
    InventoryOption,
    JsonOption,
    VerboseOption,
    has_terminal,
    located,
    refuse,
    variables,
)
from samewire.run import Request
from samewire.view import make_console, show_findings, watching
from samewire_lab.progress import seconds

SCHEMA = "samewire.lifecycle/1"
STATUS_ARTIFACT = "samewire_status"


@dataclass(frozen=True)
class Verb:
    """A change of a whole cluster."""

    name: str
    done: str
    """What the cluster is afterwards."""

    @property
    def playbook(self) -> str:
        return f"samewire.vllm.{self.name}"


STOP = Verb("stop", "stopped; samewire start brings it back")
START = Verb("start", "serving")
RESTART = Verb("restart", "serving again")
TEARDOWN = Verb("teardown", "torn down")


def stop(
    inventory: InventoryOption,
    extra_vars: ExtraVarsOption = None,
    check: CheckOption = False,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Stop a cluster until it is started again.

    It stays down over reboots, too.

    Example: samewire stop -i inventories/mine
    """
    request = _request(STOP, inventory, variables(extra_vars), check=check, verbose=verbose)
    _change(STOP, request, as_json=as_json, raw=verbose > 0)


def start(
    inventory: InventoryOption,
    extra_vars: ExtraVarsOption = None,
    check: CheckOption = False,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Start a cluster that was deployed, and wait until it serves.

    Example: samewire start -i inventories/mine
    """
    request = _request(START, inventory, variables(extra_vars), check=check, verbose=verbose)
    _change(START, request, as_json=as_json, raw=verbose > 0)


def restart(
    inventory: InventoryOption,
    extra_vars: ExtraVarsOption = None,
    check: CheckOption = False,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Stop a cluster and start it again.

    That goes in the order that Ray and vLLM need.

    Example: samewire restart -i inventories/mine
    """
    request = _request(RESTART, inventory, variables(extra_vars), check=check, verbose=verbose)
    _change(RESTART, request, as_json=as_json, raw=verbose > 0)


def teardown(
    inventory: InventoryOption,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing.")] = False,
    images: Annotated[
        bool, typer.Option("--images", help="Remove the image too, where nothing else uses it.")
    ] = False,
    extra_vars: ExtraVarsOption = None,
    check: CheckOption = False,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Remove the containers and files of a cluster.

    Nothing else of its hosts is touched.

    Example: samewire teardown -i inventories/mine --yes
    """
    given = variables(extra_vars)
    cluster = _cluster(inventory, given)
    if not (yes or check):
        _confirm(cluster)
    given |= {"teardown_confirm": cluster, "teardown_images": images}
    request = _request(TEARDOWN, inventory, given, check=check, verbose=verbose)
    _change(TEARDOWN, request, as_json=as_json, raw=verbose > 0)


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    for verb in (stop, start, restart, teardown):
        app.command(verb.__name__, epilog=HELP)(verb)


def _request(
    verb: Verb, inventory: str, given: Mapping[str, Any], *, check: bool, verbose: int
) -> Request:
    return Request(
        playbook=verb.playbook,
        inventory=located(inventory),
        extra_vars=given,
        check=check,
        verbosity=max(verbose - 1, 0),
    )


def _cluster(inventory: str, given: Mapping[str, Any]) -> str:
    try:
        named = str(given.get("cluster_name", ""))
        return cluster_name(located(inventory), locate.collection(), named)
    except InventoryError as error:
        refuse(error)


def _confirm(cluster: str) -> None:
    if not has_terminal():
        refuse(
            f"{cluster} is torn down only when that is confirmed: expected a terminal to ask on, got none; "
            "add --yes."
        )
    if not typer.confirm(f"Remove the containers and files of {cluster} from all its hosts?"):
        refuse(f"{cluster} stays as it is.")


def _change(verb: Verb, request: Request, *, as_json: bool, raw: bool) -> None:
    try:
        with watching(make_console(stderr=as_json), raw=raw, diff=False) as watch:
            ended = deploy(request, watch)
    except InventoryError as error:
        refuse(error)
    if as_json:
        typer.echo(json.dumps(_document(verb, ended), indent=2))
    else:
        _show(verb, ended, check=request.check)
    raise typer.Exit(ended.ended.exit_code)


def _document(verb: Verb, ended: Deployment) -> dict[str, Any]:
    """Return the result as schema samewire.lifecycle/1."""
    document = {**ended.to_json(), "schema": SCHEMA, "verb": verb.name}
    # It is of a deployment; what a start leaves is the state of the cluster.
    del document["record"]
    return {**document, "status": ended.ended.progress.artifacts.get(STATUS_ARTIFACT)}


def _show(verb: Verb, ended: Deployment, *, check: bool) -> None:
    console = make_console()
    code, progress, took = ended.ended.exit_code, ended.ended.progress, seconds(ended.seconds)
    if code is ExitCode.INTERRUPTED:
        console.print(
            f"Interrupted after {took}: some containers may be up and others down; "
            f"samewire status says which, samewire {verb.name} goes on from there."
        )
    elif code is not ExitCode.DONE:
        show_findings(console, progress, ended.log)
        console.print(f"{ended.cluster}: {MEANING[code]}, after {took}.")
    elif check:
        console.print(f"{ended.cluster}: {progress.changed} tasks would change something.")
    else:
        console.print(f"{ended.cluster}: {verb.done} ({took}, {progress.changed} changed).")
