# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The verb init of the command line."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from samewire import facts, init, init_files, locate, questions
from samewire.exit_codes import MEANING, ExitCode
from samewire.inventory import InventoryError
from samewire.options import JsonOption, RawOption, has_terminal, refuse
from samewire.survey import Survey, survey
from samewire.view import make_console, show_findings, watching

PLAYBOOK = "samewire.vllm.init"
GPUS_ARTIFACT = "samewire_gpus"
SCHEMA = "samewire.init/1"
SAID = {
    **MEANING,
    ExitCode.DONE: "the inventory is written",
    ExitCode.REFUSED: "refused, and nothing was written",
    ExitCode.UNREACHABLE: "a host is unreachable, and nothing was written",
}
HELP = "Exit status: " + "; ".join(f"{code:d} {text}" for code, text in SAID.items()) + "."


def create(
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="Where the inventory is written; it must not exist."),
    ],
    head: Annotated[
        str | None,
        typer.Option(
            "--head", metavar="HOST[=ADDRESS]", help="The host of Ray's head and the API."
        ),
    ] = None,
    workers: Annotated[
        list[str] | None,
        typer.Option(
            "--worker", metavar="HOST[=ADDRESS]", help="A further host; give it for each."
        ),
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", help="Account on the hosts; left out, as ssh has it.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Model: a hub id, or a path on a host.")
    ] = None,
    image: Annotated[
        str | None, typer.Option("--image", help="Image with vLLM that all hosts run.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", help="Name of the cluster; left out, that of the folder."),
    ] = None,
    network: Annotated[
        str | None,
        typer.Option(
            "--network", metavar="CIDR", help="Pin the interconnect, where it is ambiguous."
        ),
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Write without looking at the hosts.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing.")] = False,
    as_json: JsonOption = False,
    verbose: RawOption = False,
) -> None:
    """Write the inventory of a new cluster, a reason for each line.

    Nothing is changed on any host. What is not given is asked for on a terminal, unless --yes or --json is
    given. The hosts are looked at over ssh, as samewire plan does.

    Example: samewire init inventories/mine

    Example: samewire init inventories/mine --head spark0=10.1.230.180 --worker spark1=10.1.230.181
    --user ops --model Qwen/Qwen3-32B --image example.net/vllm:0.32.0 --yes
    """
    _judge_folder(folder)
    given = questions.Given(name, head, tuple(workers or ()), user, image, model, network)
    asks = not (yes or as_json) and has_terminal()
    try:
        answers = questions.ask(given, folder.absolute().name) if asks else _complete(given, folder)
        _judge(answers)
        found = init.Found() if offline else _looked(answers, verbose=verbose, quiet=as_json)
        files = init_files.render(answers, found)
        if asks and not _agreed(folder, files):
            refuse(f"{folder} is not written.")
    except (typer.Abort, KeyboardInterrupt):
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    _write(folder, files)
    _show(folder, files, found, as_json=as_json)


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("init", epilog=HELP)(create)


def _judge_folder(folder: Path) -> None:
    if not str(folder).isprintable():
        raise typer.BadParameter(
            f"expected a path without control characters, got {str(folder)!r}", param_hint="FOLDER"
        )
    if folder.exists() or folder.is_symlink():
        refuse(
            f"{folder} exists: expected a folder that is still to be made, as nothing is overwritten; give "
            "another one, or remove it."
        )


def _complete(given: questions.Given, folder: Path) -> init.Answers:
    for option, value in (
        ("--head", given.head),
        ("--image", given.image),
        ("--model", given.model),
    ):
        if not value:
            raise typer.BadParameter(
                f"expected a value where nothing can be asked, got none; add {option}",
                param_hint=f"'{option}'",
            )
    return given.answers(folder.absolute().name)


def _judge(answers: init.Answers) -> None:
    if problems := init.problems(answers):
        refuse("\n".join(problems))


def _looked(answers: init.Answers, *, verbose: bool, quiet: bool) -> init.Found:
    """Ask the hosts by an inventory that is only for that."""
    with TemporaryDirectory(prefix="samewire-") as temporary:
        inventory = Path(temporary) / "inventory"
        _fill(inventory, init_files.render(answers, init.Found()))
        try:
            with watching(make_console(stderr=quiet), raw=verbose, diff=False) as watch:
                asked: Survey = survey(PLAYBOOK, inventory, watch)
        except InventoryError as error:
            refuse(error)
    gpus: Mapping[str, Any] | None = asked.ended.progress.artifacts.get(GPUS_ARTIFACT)
    if asked.document is None or gpus is None:
        _unseen(asked)
    known = facts.parse(asked.document, f"What the hosts of {asked.cluster} say", asked.cluster)
    plan = known.plan()
    if "error" in plan:
        refuse(
            f"{plan['error']['message']}\nNothing was written; --network pins a network, --offline writes "
            "without looking."
        )
    counts = {str(host["name"]): len(host.get("gpus") or ()) for host in asked.document["hosts"]}
    return init.found(plan, gpus, counts)


def _unseen(asked: Survey) -> NoReturn:
    code = asked.ended.exit_code
    console: Console = make_console(stderr=True)
    if code is not ExitCode.INTERRUPTED:
        show_findings(console, asked.ended.progress, asked.log)
        console.print("Nothing was written; --offline writes without looking at the hosts.")
    raise typer.Exit(code or ExitCode.FAILED)


def _agreed(folder: Path, files: Mapping[str, str]) -> bool:
    typer.echo("\n".join(_listing(folder, files)))
    return typer.confirm(f"Write this to {folder}?", default=True)


def _listing(folder: Path, files: Mapping[str, str]) -> Sequence[str]:
    return [f"{folder / path}\n{text}" for path, text in files.items()]


def _write(folder: Path, files: Mapping[str, str]) -> None:
    """Write all files or none: they are made beside the folder and get its name at the end."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(mkdtemp(prefix=".samewire-", dir=folder.parent))
        try:
            _fill(made / "inventory", files)
            (made / "inventory").rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise typer.BadParameter(
            f"{folder} cannot be written: {error.strerror}", param_hint="FOLDER"
        ) from None


def _fill(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def _show(folder: Path, files: Mapping[str, str], found: init.Found, *, as_json: bool) -> None:
    if as_json:
        document = {
            "schema": SCHEMA,
            "folder": str(folder.absolute()),
            "files": files,
            "plan": found.plan or None,
        }
        typer.echo(json.dumps(document, indent=2))
        return
    shipped = (locate.collection() / "inventories" / str(folder)).exists()
    named = shlex.quote(str(folder.absolute() if shipped else folder))
    for path, text in files.items():
        typer.echo(f"Wrote {folder / path}, {text.count(chr(10))} lines.")
    typer.echo(f"Next: samewire plan -i {named}, then samewire deploy -i {named}.")
