# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a person sees of a run: phases while it goes on, then the result or the findings."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from ansible_collections.samewire.vllm.plugins.module_utils import _following, _plan
from samewire.events import Event, Phase, Progress, Work
from samewire.record import Record
from samewire_lab.progress import seconds

DIFF_EVENTS = frozenset({"runner_on_file_diff", "on_file_diff"})
# The longest title of a phase of a deployment has 43.
TITLE_WIDTH = 44
BAR_WIDTH = 20
SHOWN_AFTER_S = 1.0
SHOWN_HOSTS = 8

Watch = Callable[[Progress, Mapping[str, Any]], None]


def make_console(*, stderr: bool = False) -> Console:
    """Return a console that neither wraps nor decorates what a program may read."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


def is_lively(console: Console) -> bool:
    """Whether lines may be redrawn: a terminal, and nobody asked for plain output."""
    plain = "NO_COLOR" in os.environ or "CI" in os.environ
    return console.is_terminal and not plain


def pace(console: Console) -> int:
    """Return after how many seconds a long task shall say how far it is: lines that stay come rarely."""
    return 1 if is_lively(console) else int(_following.SHOWN_EVERY)


@contextmanager
def watching(console: Console, *, raw: bool, diff: bool) -> Iterator[Watch]:
    """Yield what takes each event of a run and shows it: raw, redrawn or as plain lines."""
    if raw:
        yield lambda _progress, event: _print_raw(console, event)
    elif is_lively(console):
        with Live(console=console, transient=True, refresh_per_second=8) as live:
            yield _Lively(console, live, diff=diff)
    else:
        yield _Plain(console, diff=diff)


def show_record(
    console: Console,
    record: Record,
    file: Path,
    key_file: Path | None,
    certificate: Path | None,
    *,
    new_key: bool,
) -> None:
    """Print what was deployed and how to use it; a key of the API only when it is new."""
    network = f"{record.network} ({_plan.TRANSPORTS[record.transport]})"
    width = max(len(node.name) for node in record.nodes)
    nodes = [
        f"{node.name:{width}}  {node.address}  {node.role}, "
        f"{node.gpus} GPU{'' if node.gpus == 1 else 's'}"
        for node in record.nodes
    ]
    rows = [
        ("URL", record.url),
        ("Model", record.model),
        *zip(["Nodes", *[""] * (len(nodes) - 1)], nodes, strict=True),
        ("Wire", network),
        ("Answer", f"{record.prompt!r} -> {record.text!r}"),
        ("Record", str(file)),
    ]
    if key_file is not None:
        rows.append(("API key", str(key_file)))
        if new_key:
            rows.append(("", f"{key_file.read_text(encoding='utf-8')} (new, and shown this once)"))
    if certificate is not None:
        rows.append(("Trust", str(certificate)))
    console.print()
    for name, value in rows:
        console.print(f"  {name:<8}{value}")
    console.print(f"\n  {record.curl(key_file, certificate)}\n")


def show_findings(console: Console, progress: Progress, log: Path) -> None:
    """Print what went wrong, a line a problem, then where to see more."""
    for finding in progress.findings or ("Ansible ended without saying why.",):
        console.print(finding, style="bold red")
    console.print(f"Ansible's own output: {log} (or run again with -v).")


class _Plain:
    """A line when a phase starts, a line when it ends."""

    def __init__(self, console: Console, *, diff: bool) -> None:
        self._console = console
        self._diff = diff
        self._shown: tuple[Phase, ...] = ()

    def __call__(self, progress: Progress, event: Mapping[str, Any]) -> None:
        for index, phase in enumerate(progress.phases):
            before = self._shown[index] if index < len(self._shown) else None
            if phase.hosts and not (before and before.hosts):
                self._line(phase.started, f"{phase.title} …")
            for step in phase.steps[len(before.steps) if before else 0 :]:
                self._line(Event.parse(event).created, f"  {step}")
            for note in phase.notes[len(before.notes) if before else 0 :]:
                self._line(Event.parse(event).created, f"  Note: {note}")
            if phase.hosts and phase.ended is not None and not (before and before.ended):
                self._line(phase.ended, f"{phase.title} … {_outcome(phase)}")
        self._shown = progress.phases
        _print_diff(self._console, event, wanted=self._diff)

    def _line(self, when: float, text: str) -> None:
        self._console.print(f"{time.strftime('%H:%M:%S', time.localtime(when))} {text}")


class _Lively:
    """Ended phases stay as lines; the one that runs is redrawn below them, with a line for each host."""

    def __init__(self, console: Console, live: Live, *, diff: bool) -> None:
        self._console = console
        self._live = live
        self._diff = diff
        self._printed = 0

    def __call__(self, progress: Progress, event: Mapping[str, Any]) -> None:
        ended = [phase for phase in progress.phases if phase.ended is not None]
        for phase in ended[self._printed :]:
            self._console.print(_ended_line(phase))
            for note in phase.notes:
                self._console.print(_note(note))
        self._printed = len(ended)
        running = [phase for phase in progress.phases if phase.ended is None]
        expected = progress.expected.get(running[0].title) if running else None
        self._live.update(_Running(running[0], expected) if running else Text(""))
        _print_diff(self._console, event, wanted=self._diff)


class _Running:
    """The lines of a running phase; its times move on with every redraw.

    expected: seconds that it took the last time, None where that is not known.
    """

    spinner = Spinner("dots")

    def __init__(self, phase: Phase, expected: float | None = None) -> None:
        self._phase = phase
        self._expected = expected

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        phase, now = self._phase, time.time()
        took = seconds(now - phase.started)
        # The last time was another case where this one takes longer.
        if self._expected is not None and now - phase.started <= self._expected:
            took += f" of about {seconds(self._expected)}"
        head = Table.grid(padding=(0, 1))
        head.add_column(no_wrap=True)
        head.add_column(no_wrap=True)
        head.add_column(no_wrap=True, overflow="ellipsis")
        head.add_row(self.spinner, Text(phase.title), Text(took, style="dim"))
        yield head
        # What is over at once would only flicker.
        busy = {
            host: work
            for host, work in sorted(phase.working.items())
            if work.step or now - work.since >= SHOWN_AFTER_S
        }
        if not busy:
            return
        names = max(map(len, busy))
        bars = BAR_WIDTH if any(work.step and work.step.fraction for work in busy.values()) else 0
        bars = min(bars, options.max_width // 8)
        rows = Table.grid(padding=(0, 1), expand=True)
        for width in (1, names, *([bars] if bars else [])):
            rows.add_column(no_wrap=True, width=width, min_width=width)
        rows.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        for host, work in list(busy.items())[:SHOWN_HOSTS]:
            said = Text(_said(work, now), style="dim")
            rows.add_row("", host, *([_bar(work, bars)] if bars else []), said)
        if len(busy) > SHOWN_HOSTS:
            more = Text(f"and {len(busy) - SHOWN_HOSTS} more", style="dim")
            rows.add_row("", "", *([""] if bars else []), more)
        yield rows


def _bar(work: Work, width: int) -> RenderableType:
    if work.step is None or work.step.fraction is None:
        return Text("")
    return ProgressBar(total=1, completed=work.step.fraction, width=width)


def _said(work: Work, now: float) -> str:
    """Return what a host does: its own words, how fast, and how long it will take at this pace."""
    if (step := work.step) is None:
        return f"{work.task} ({seconds(now - work.since)})"
    rate = f" at {step.rate:.0f} MB/s" if step.rate else ""
    left = f", about {seconds(step.left)} left" if step.left is not None else ""
    return f"{step.what}{rate}{left}"


def _note(text: str) -> RenderableType:
    """Return a note that stays indented where a narrow terminal breaks it."""
    row = Table.grid()
    row.add_column(no_wrap=True)
    row.add_column()
    row.add_row(Text("  Note: ", style="dim"), Text(text, style="dim"))
    return row


def _ended_line(phase: Phase) -> Text:
    mark, style = ("✗", "red") if phase.down else ("✓", "green")
    took = seconds(phase.seconds)
    what = "failed" if phase.down else _changes(phase)
    return Text.assemble(
        (f"{mark} ", style), f"{phase.title:<{TITLE_WIDTH}} {took:>10}  ", (what, "dim")
    )


def _outcome(phase: Phase) -> str:
    took = seconds(phase.seconds)
    if phase.down:
        return f"failed after {took}"
    return f"done in {took}, {_changes(phase)}"


def _changes(phase: Phase) -> str:
    return f"{phase.changed} changed" if phase.changed else "nothing changed"


def _print_raw(console: Console, event: Mapping[str, Any]) -> None:
    # The events come from a pseudo-terminal, whose lines end with a carriage return.
    if text := event["stdout"].replace("\r\n", "\n"):
        console.print(Text.from_ansi(text))


def _print_diff(console: Console, event: Mapping[str, Any], *, wanted: bool) -> None:
    if wanted and event["event"] in DIFF_EVENTS:
        _print_raw(console, event)
