# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the two ways to show progress print."""

import io
import re

import pytest
from rich.console import Console

from samewire_lab import progress


def console(*, terminal: bool) -> tuple[Console, io.StringIO]:
    output = io.StringIO()
    return Console(file=output, force_terminal=terminal, width=100, highlight=False), output


def without_times(text: str) -> list[str]:
    return [re.sub(r"\d+\.\d s", "T", line).strip() for line in text.splitlines()]


def test_lines_without_a_terminal() -> None:
    target, output = console(terminal=False)
    with progress.create(target) as shown, shown.step("Build [base]") as step:
        step.update(fraction=0.5, detail="half")
        shown.note("a note")
    assert without_times(output.getvalue()) == [
        "T  Build [base] ...",
        "T  a note",
        "T  Build [base]: T",
    ]


def test_a_failed_step_says_so_and_passes_the_error_on() -> None:
    target, output = console(terminal=False)
    with (
        pytest.raises(RuntimeError, match=r"^no space$"),
        progress.create(target) as shown,
        shown.step("Build"),
    ):
        raise RuntimeError("no space")
    assert without_times(output.getvalue()) == ["T  Build ...", "T  Build: failed after T"]


def test_bars_on_a_terminal_leave_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    target, output = console(terminal=True)
    shown = progress.create(target)
    assert isinstance(shown, progress.Bars)
    with shown, shown.step("Build") as step:
        step.update(fraction=0.25, detail="a quarter")
    assert re.search(r"\d\.\d s {2}Build: \d\.\d s", output.getvalue())


def test_no_color_means_lines_on_a_terminal_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    target, _ = console(terminal=True)
    assert isinstance(progress.create(target), progress.Lines)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.04, "0.0 s"),
        (8.26, "8.3 s"),
        (99.9, "99.9 s"),
        (99.96, "1 min 40 s"),
        (245.2, "4 min 05 s"),
    ],
)
def test_durations(value: float, text: str) -> None:
    assert progress.seconds(value) == text
