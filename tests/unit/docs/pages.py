# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The pages of the documentation, and the code in them."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"^ {4}(\S.*)$", re.MULTILINE)
_INLINE = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True)
class Command:
    """A command of a console, and what the page says that it prints."""

    line: str
    output: str = ""

    @property
    def words(self) -> list[str]:
        return shlex.split(self.line, comments=True)


def fenced(page: Path, language: str) -> list[str]:
    """Return the blocks of a language."""
    found = _FENCED.findall(page.read_text(encoding="utf-8"))
    return [text for named, text in found if named == language]


def consoles(page: Path) -> list[Command]:
    """Return the commands of the consoles of a page, in order."""
    commands = []
    for block in fenced(page, "console"):
        for said in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, output = said.partition("\n")
            commands.append(Command(line, output))
    return commands


def command_lines(page: Path) -> Iterator[list[str]]:
    """Yield the words of every command that stands by itself, alternatives as `stop|start` one by one."""
    rest = _FENCED.sub("", page.read_text(encoding="utf-8"))
    lines = [command.line for command in consoles(page)] + _INDENTED.findall(rest)
    for line in lines:
        for part in line.partition("#")[0].split("&&"):
            alternatives = [
                word.split("|") if re.fullmatch(r"[a-z]+(\|[a-z]+)+", word) else [word]
                for word in shlex.split(part)
            ]
            yield from map(list, itertools.product(*alternatives))


def inline(page: Path) -> list[str]:
    """Return the code within sentences."""
    return _INLINE.findall(_FENCED.sub("", page.read_text(encoding="utf-8")))
