# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The verb status of the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ansible_collections.samewire.vllm.plugins.module_utils import _status
from samewire.exit_codes import MEANING, ExitCode
from samewire.inventory import InventoryError
from samewire.lifecycle_command import STATUS_ARTIFACT
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
from samewire.view import is_lively, make_console, watching

PLAYBOOK = "samewire.vllm.status"

EXIT_CODES = {
    _status.SERVING: ExitCode.DONE,
    _status.UNREACHABLE: ExitCode.UNREACHABLE,
}
SAID = {**MEANING, ExitCode.DONE: "serving", ExitCode.FAILED: "not serving, or not as planned"}
HELP = "Exit status: " + "; ".join(f"{code:d} {text}" for code, text in SAID.items()) + "."
STYLES = {_status.SERVING: "green", _status.STARTING: "yellow", _status.STOPPED: "yellow"}


def status(
    inventory: InventoryOption,
    extra_vars: ExtraVarsOption = None,
    as_json: JsonOption = False,
    verbose: RawOption = False,
) -> None:
    """Say in which state a cluster is.

    Hosts, Ray, vLLM and GPUs are held against the plan. Nothing is changed.

    Example: samewire status -i inventories/mine
    """
    # What a look of seconds does on the way interests nobody.
    quiet = make_console(stderr=True)
    given = variables(extra_vars)
    try:
        with watching(quiet if verbose else Console(quiet=True), raw=verbose, diff=False) as watch:
            asked = survey(PLAYBOOK, located(inventory), watch, given)
    except InventoryError as error:
        refuse(error)
    found: Mapping[str, Any] | None = asked.ended.progress.artifacts.get(STATUS_ARTIFACT)
    if found is None:
        without_answer(asked)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        show(make_console(), found)
    raise typer.Exit(EXIT_CODES.get(found["verdict"], ExitCode.FAILED))


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("status", epilog=HELP)(status)


def show(console: Console, found: Mapping[str, Any]) -> None:
    """Print a status of schema samewire.status/1: a table on a terminal, else plain lines."""
    if not is_lively(console):
        for line in _status.report(found):
            console.print(line)
        return
    style = STYLES.get(found["verdict"], "red")
    console.print(
        Text.assemble(
            (f"{found['cluster']} ", "bold"),
            (found["verdict"], f"bold {style}"),
            f"  {found['reason']}",
        ),
        soft_wrap=False,
    )
    console.print(_hosts(found["hosts"]), soft_wrap=False)
    if found["vllm"]:
        line = f"vLLM  {found['vllm']['url'] or ''}  {_status.server_line(found['vllm'])}"
        console.print(line, soft_wrap=False)
    for message in _status.further_problems(found):
        console.print(f"✗ {message}", style="red", soft_wrap=False)
    for note in found["notes"]:
        console.print(f"Note: {note}", style="dim", soft_wrap=False)


def _hosts(hosts: Mapping[str, Mapping[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("host", "role", "planned", "Ray", "vLLM", "GPUs"):
        table.add_column(title)
    for name, own in sorted(hosts.items(), key=lambda item: (item[1]["role"] != "head", item[0])):
        planned = own["planned"]
        wire = f"{planned['address']} {planned['interface']}" if planned["address"] else "-"
        if not own["reachable"]:
            table.add_row(name, own["role"], wire, Text(own["reason"], style="red"), "", "")
            continue
        parts = [
            _status.container_line(own["containers"][part]) if part in own["containers"] else ""
            for part in ("ray", "vllm")
        ]
        table.add_row(name, own["role"], wire, *parts, _status.gpu_line(own))
    return table
