# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What is redrawn on a terminal while a phase runs, and the lines that stay, at 80 and at 200 columns."""

from __future__ import annotations

import io
import time
from typing import Any

import pytest
from rich.console import Console, RenderableType

from samewire import steps, view
from samewire.events import Phase, Work


def shown(what: RenderableType, columns: int = 80) -> list[str]:
    console = Console(width=columns, file=io.StringIO(), record=True, force_terminal=True)
    console.print(what)
    return [line.rstrip() for line in console.export_text().splitlines()]


def running(hosts: dict[str, str], expected: float | None = None, **changes: Any) -> view._Running:
    now = time.time()
    working = {
        host: Work("Pull the image", now - 12, steps.parse(f"{host}: {line}") if line else None)
        for host, line in hosts.items()
    }
    phase = Phase("Pull the image", now - 12, hosts=tuple(hosts), working=working, **changes)
    return view._Running(phase, expected)


@pytest.mark.parametrize("columns", [80, 200])
def test_a_line_for_each_host(columns: int) -> None:
    lines = shown(
        running(
            {
                "node0": "pulling the image, layers 5/12, 1.0 of 4.0 GB (10 s)",
                "node1": "",
            },
            41.0,
        ),
        columns,
    )
    assert lines[0].endswith(" Pull the image 12.0 s of about 41.0 s")
    assert lines[1].startswith("  node0 ")
    if columns == 200:
        assert lines[1].endswith(
            " pulling the image, layers 5/12, 1.0 of 4.0 GB at 100 MB/s, about 30.0 s left"
        )
    assert "pulling the image, layers 5/12, 1.0 of 4.0" in lines[1]
    assert lines[2].split() == ["node1", "Pull", "the", "image", "(12.0", "s)"]
    assert len(lines) == 3
    assert max(map(len, lines)) <= columns


def test_what_takes_longer_than_the_last_time_is_another_case() -> None:
    assert shown(running({}, 3.2))[0].endswith(" Pull the image 12.0 s")


def test_of_many_hosts_the_first() -> None:
    lines = shown(running({f"node{number:02}": "" for number in range(32)}))
    assert len(lines) == 1 + view.SHOWN_HOSTS + 1
    assert lines[-1].strip() == "and 24 more"


def test_what_is_over_at_once_is_not_shown() -> None:
    phase = Phase("Prove", time.time(), working={"node0": Work("Look", time.time())})
    assert len(shown(view._Running(phase))) == 1


def test_the_lines_that_stay_stand_in_columns() -> None:
    long = "Check that the hosts have what it takes"
    first = shown(view._ended_line(Phase(long, 0.0, 1.8)))[0]
    second = shown(view._ended_line(Phase("Start vLLM", 0.0, 129.0, changed=1)))[0]
    third = shown(view._ended_line(Phase("Prove", 0.0, 1.0, down=frozenset({"a"}))))[0]
    assert first.index("nothing changed") == second.index("1 changed") == third.index("failed")
    assert len(first) <= 80


def test_a_note_stays_indented_where_it_is_broken() -> None:
    lines = shown(view._note("node0: " + "word " * 30))
    assert lines[0].startswith("  Note: node0: word")
    assert all(line.startswith(" " * 8 + "word") for line in lines[1:])
    assert len(lines) > 1
