# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The command line of the lab."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from docker.errors import DockerException
from rich.console import Console
from rich.table import Table

from samewire_lab import lab, progress, spec, status
from samewire_lab.errors import LabError
from samewire_lab.state import State

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Two hosts on this machine, with a Docker Engine each and a fabric that joins them.",
)


@app.command()
def up() -> None:
    """Build what is missing and boot the lab; quick when it is up already.

    Python packages come from where this machine's pip finds them. SAMEWIRE_TORCH_INDEX adds
    PyTorch's CPU wheel index, where torch's CPU build is not offered.
    """
    with _one_sentence(), progress.create() as shown:
        lab.up(State(), shown)
        for host in spec.HOSTS:
            shown.note(
                f"{host.name} is up: {host.management_address} on {host.management_interface}, "
                f"{host.fabric_address} on {host.fabric_interface}"
            )
        shown.note(f"Image for the hosts: {spec.REGISTRY_PULL}/{spec.IMAGE}:{spec.IMAGE_TAG}")


@app.command()
def down(
    purge: Annotated[
        bool, typer.Option("--purge", help="Remove the images and ~/.samewire/lab as well.")
    ] = False,
) -> None:
    """Remove the hosts, networks and registry; the image cache stays."""
    with _one_sentence(), progress.create() as shown:
        lab.down(State(), shown, purge=purge)


@app.command("status")
def show(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (samewire.lab/1).")] = False,
) -> None:
    """Show what exists; exit code 1 unless the lab is up."""
    with _one_sentence():
        now = status.read(State())
    if as_json:
        typer.echo(json.dumps(now.to_json(), indent=2))
    else:
        Console(highlight=False).print(_table(now))
    raise typer.Exit(0 if now.up else 1)


def _table(now: status.Status) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_row("lab", "up" if now.up else "down")
    started = f", started by the lab ({now.engine_started_by_lab})"
    table.add_row(
        "engine",
        f"Docker {now.engine}{started if now.engine_started_by_lab else ''}"
        if now.engine
        else "none runs",
    )
    for image, present in now.images.items():
        table.add_row("image", f"{image} {'built' if present else 'not built'}")
    for network, present in now.networks.items():
        table.add_row("network", f"{network} {'present' if present else 'absent'}")
    table.add_row("registry", now.registry or "absent")
    for host in now.hosts:
        table.add_row(
            host.name,
            f"{'ready' if host.ready else host.state}, {host.management}, {host.fabric}, "
            f"{host.memory_bytes / 2**30:.2f} GiB",
        )
    table.add_row("memory", f"{now.memory_bytes / 2**30:.2f} GiB in the hosts")
    return table


@contextmanager
def _one_sentence() -> Iterator[None]:
    """Print what went wrong as one sentence and exit with 1."""
    try:
        yield
    except LabError as error:
        sentence = str(error)
    except DockerException as error:
        sentence = f"Docker Engine on this machine refused: {error}"
    else:
        return
    Console(stderr=True, highlight=False).print(f"Error: {sentence}", markup=False, soft_wrap=True)
    raise typer.Exit(1)
