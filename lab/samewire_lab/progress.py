# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that tell how far they are: bars on a terminal, plain lines elsewhere.

Steps may overlap and may run on several threads.
"""

import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Protocol, Self

import rich.progress
from rich.console import Console


class Step(Protocol):
    """One step under way."""

    def update(self, *, fraction: float | None = None, detail: str | None = None) -> None:
        """Tell how much is done (0 to 1) and what is being done; None leaves it as it was."""


class Progress(Protocol):
    """Something that shows steps; to be used in a `with` statement."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def step(self, title: str) -> AbstractContextManager[Step]:
        """Show a step for as long as the `with` block runs; an exception shows it as failed."""

    def note(self, text: str) -> None:
        """Show one line that is not a step."""


def create(console: Console | None = None) -> Progress:
    """Return what fits: bars on a terminal, lines without one or with NO_COLOR."""
    console = console or Console(stderr=True, highlight=False)
    plain = not console.is_terminal or "NO_COLOR" in os.environ
    return Lines(console) if plain else Bars(console)


def seconds(value: float) -> str:
    """Render a duration: "8.3 s", "4 min 05 s"."""
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02d} s" if value >= 99.95 else f"{value:.1f} s"


class _Silent:
    """A step of which only begin and end are shown."""

    def update(self, *, fraction: float | None = None, detail: str | None = None) -> None:
        """Show nothing."""


class Lines:
    """A line when a step begins and one when it ends, each with the time since the start."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._start = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        """Print the begin and the end."""
        begin = time.monotonic()
        self.note(f"{title} ...")
        try:
            yield _Silent()
        except BaseException:
            self.note(f"{title}: failed after {seconds(time.monotonic() - begin)}")
            raise
        self.note(f"{title}: {seconds(time.monotonic() - begin)}")

    def note(self, text: str) -> None:
        """Print the text after the time since the start."""
        elapsed = time.monotonic() - self._start
        self._console.print(f"{elapsed:7.1f} s  {text}", markup=False, soft_wrap=True)


class _Bar:
    """A step shown as a bar."""

    def __init__(self, bars: rich.progress.Progress, task: rich.progress.TaskID) -> None:
        self._bars = bars
        self._task = task

    def update(self, *, fraction: float | None = None, detail: str | None = None) -> None:
        """Move the bar."""
        if fraction is not None:
            self._bars.update(self._task, total=1.0, completed=fraction)
        if detail is not None:
            self._bars.update(self._task, detail=detail)


class Bars:
    """A live bar for each step under way; a step that has ended leaves a line."""

    def __init__(self, console: Console) -> None:
        self._lines = Lines(console)
        self._bars = rich.progress.Progress(
            rich.progress.SpinnerColumn(),
            rich.progress.TextColumn("{task.description}", markup=False),
            rich.progress.BarColumn(bar_width=24),
            rich.progress.TimeElapsedColumn(),
            rich.progress.TextColumn("{task.fields[detail]}", style="dim", markup=False),
            console=console,
            transient=True,
        )

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        """Show a bar, then a line."""
        begin = time.monotonic()
        task = self._bars.add_task(title, total=None, detail="")
        try:
            yield _Bar(self._bars, task)
        except BaseException:
            self.note(f"{title}: failed after {seconds(time.monotonic() - begin)}")
            raise
        finally:
            self._bars.remove_task(task)
        self.note(f"{title}: {seconds(time.monotonic() - begin)}")

    def note(self, text: str) -> None:
        """Print a line above the bars."""
        self._lines.note(text)
