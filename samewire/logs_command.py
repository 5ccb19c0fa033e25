# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The verb logs of the command line."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from queue import Queue
from typing import Annotated, Any

import typer

from ansible_collections.samewire.vllm.plugins.module_utils import _redaction
from samewire import inventory as inventories
from samewire import locate, logs, record
from samewire.connection import Connection, ConnectionProblem, connection
from samewire.exit_codes import MEANING, ExitCode
from samewire.log_source import ENDING_S, Follower, Source, containers
from samewire.options import ExtraVarsOption, InventoryOption, located, refuse, variables
from samewire.view import is_lively, make_console

SAID = {
    **MEANING,
    ExitCode.DONE: "all that is there was printed",
    ExitCode.FAILED: "there is no container",
    ExitCode.UNREACHABLE: "a host is unreachable, the others were printed",
}
HELP = "Exit status: " + "; ".join(f"{code:d} {text}" for code, text in SAID.items()) + "."
COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "bright_cyan", "bright_yellow", "red")
MOST_WAITING = 10_000


def show_logs(
    inventory: InventoryOption,
    hosts: Annotated[
        list[str] | None, typer.Argument(metavar="HOST...", help="Only these hosts.")
    ] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", "-f", help="Go on with what comes, also over restarts, until Ctrl-C."
        ),
    ] = False,
    tail: Annotated[
        int | None, typer.Option("--tail", "-n", min=0, help="The last lines of each container.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="TIME", help="Lines since: 10m ago, or 2026-11-30T13:00:00Z."
        ),
    ] = None,
    timestamps: Annotated[
        bool, typer.Option("--timestamps", "-t", help="Print when each line was written, in UTC.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object a line.")] = False,
    extra_vars: ExtraVarsOption = None,
) -> None:
    """Show the logs of a cluster, merged by time.

    They are those of all its containers on all hosts, without secrets. A line begins with its host, its
    container and, where it says so, the rank that wrote it.

    Example: samewire logs -i inventories/mine --since 10m

    Example: samewire logs -i inventories/mine -f --tail 20 spark1
    """
    if since is not None and not logs.is_since(since):
        raise typer.BadParameter(
            f"expected a time as 10m, 1h30m or 2026-11-30T13:00:00Z, got {since}",
            param_hint="'--since'",
        )
    folder = locate.collection()
    try:
        found = inventories.read(located(inventory), folder, variables(extra_vars))
    except inventories.InventoryError as error:
        refuse(error)
    wanted = _wanted(hosts or list(found.hosts), found.hosts)
    wish = logs.Wish(tail, since or "", follow)
    asked = _Asked(found.cluster, folder, wish, _secrets(found), _say)
    ways = list(_ways(wanted, found.hosts, asked))
    show = _printer(list(found.hosts), asked, as_json=as_json, timestamps=timestamps)
    try:
        raise typer.Exit(asked.show(ways, show))
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("logs", epilog=HELP)(show_logs)


class _Asked:
    """What is asked of the hosts; what goes wrong is said at once, and the others go on."""

    def __init__(
        self,
        cluster: str,
        folder: Path,
        wish: logs.Wish,
        secrets: Sequence[str],
        say: Callable[[str], None],
    ) -> None:
        self.cluster = cluster
        self.names: list[str] = []
        self._folder = folder
        self._wish = wish
        self._secrets = secrets
        self._say = say
        self._failed = False

    def fail(self, sentence: str) -> None:
        """Say what is wrong with one host."""
        self._failed = True
        self._say(sentence)

    def show(self, ways: Sequence[Connection], show: Callable[[logs.Line], None]) -> ExitCode:
        """Print the lines of all hosts that can be reached."""
        pairs = []
        for way, got in zip(
            ways, containers(ways, self.cluster, self._folder).values(), strict=True
        ):
            if isinstance(got, str):
                self.fail(got)
            else:
                pairs += [(way, name) for name in got]
        self.names = sorted({name for _, name in pairs})
        if not pairs and not self._failed:
            self._say(
                f"{self.cluster} has no container on {', '.join(way.host for way in ways)}: expected some, "
                "got none; run 'samewire deploy' first."
            )
            return ExitCode.FAILED
        if pairs and self._wish.follow:
            self._follow(pairs, show)
        else:
            self._print(pairs, show)
        return ExitCode.UNREACHABLE if self._failed else ExitCode.DONE

    def _print(
        self, pairs: Sequence[tuple[Connection, str]], show: Callable[[logs.Line], None]
    ) -> None:
        with ExitStack() as stack:
            sources = [
                stack.enter_context(self._source(way, name, self._wish)) for way, name in pairs
            ]
            for line in logs.merged(sources):
                show(line)
            for sentence in dict.fromkeys(filter(None, [each.failure() for each in sources])):
                self.fail(sentence)

    def _follow(
        self, pairs: Sequence[tuple[Connection, str]], show: Callable[[logs.Line], None]
    ) -> None:
        inbox: Queue[logs.Line | None] = Queue(MOST_WAITING)
        followers = [
            Follower(partial(self._source, way, name), self._wish, inbox, self._say)
            for way, name in pairs
        ]
        try:
            for line in logs.as_they_come(inbox, len(pairs)):
                show(line)
        finally:
            for each in followers:
                each.hang_up()
            deadline = time.monotonic() + ENDING_S
            for each in followers:
                each.end(deadline)

    def _source(self, way: Connection, name: str, wish: logs.Wish) -> Source:
        return Source(way, logs.Reader(way.host, name, self._secrets), name, wish, self._folder)


def _wanted(names: Sequence[str], known: Mapping[str, Any]) -> list[str]:
    for name in names:
        if name not in known:
            raise typer.BadParameter(
                f"expected hosts of the inventory ({', '.join(known)}), got {name}",
                param_hint="HOST",
            )
    return list(dict.fromkeys(names))


def _ways(
    names: Sequence[str], known: Mapping[str, Mapping[str, Any]], asked: _Asked
) -> Iterator[Connection]:
    for name in names:
        try:
            yield connection(name, known[name])
        except ConnectionProblem as error:
            asked.fail(str(error))


def _secrets(found: inventories.Inventory) -> list[str]:
    """Return the secrets that are known here: those of the inventory, and the key of the API."""
    own = {
        str(value)
        for said in found.hosts.values()
        for name, value in said.items()
        if _redaction.is_secret_name(name)
    }
    key = record.key_file(locate.cluster_folder(found.cluster))
    return [*own, key.read_text(encoding="utf-8")] if key else list(own)


def _printer(
    hosts: Sequence[str], asked: _Asked, *, as_json: bool, timestamps: bool
) -> Callable[[logs.Line], None]:
    """Return what prints a line: an object, or a prefix in the colour of its host and the text."""
    if as_json:
        return lambda line: typer.echo(json.dumps(line.to_json()))
    lively = is_lively(make_console())
    colours = dict(zip(hosts, itertools.cycle(COLOURS), strict=False))
    width = max(map(len, hosts))

    def show(line: logs.Line) -> None:
        rank = "" if line.rank is None else f"rank {line.rank}"
        longest = max(map(len, asked.names))
        prefix = f"{line.host:{width}} {line.container:{longest}} {rank:6} |"
        if timestamps:
            prefix = f"{line.time} {prefix}"
        typer.echo(
            f"{typer.style(prefix, fg=colours[line.host]) if lively else prefix} {line.text}"
        )

    return show


def _say(sentence: str) -> None:
    typer.echo(sentence, err=True)
