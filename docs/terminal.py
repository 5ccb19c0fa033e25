# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A picture of a terminal after a real run: python docs/terminal.py FILE.svg [--columns N] -- COMMAND...

The program runs in a terminal of its own, as if somebody sat before it; what it left on the screen becomes
the picture. Its exit code is that of the program.
"""

from __future__ import annotations

import argparse
import fcntl
import io
import os
import pty
import re
import struct
import sys
import termios
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import MONOKAI
from rich.text import Text

LINES = 400
KEY = re.compile(r"\b[0-9a-f]{64}\b")
LICENCE = """\
<!-- SPDX-FileCopyrightText: The Samewire authors -->
<!-- SPDX-License-Identifier: Apache-2.0 -->
"""
HOME = str(Path.home())
# Rich would have the fonts fetched from elsewhere.
FONTS = re.compile(r"@font-face\s*\{.*?\}\s*", re.DOTALL)
FAMILY = 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace'


def run(command: list[str], columns: int) -> tuple[pyte.Screen, int]:
    """Run a program in a terminal; return the screen that it left, and its exit code."""
    screen = pyte.Screen(columns, LINES)
    stream = pyte.ByteStream(screen)
    child, terminal = pty.fork()
    if not child:
        os.environ.update(TERM="xterm-256color", COLUMNS=str(columns), LINES="40")
        os.environ.pop("NO_COLOR", None)
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    while True:
        try:
            said = os.read(terminal, 65536)
        except OSError:
            break
        if not said:
            break
        stream.feed(said)
    return screen, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _colour(name: str) -> str | None:
    if name == "default":
        return None
    if len(name) == 6 and all(each in "0123456789abcdef" for each in name):
        return f"#{name}"
    return name.replace("brown", "yellow").replace("bright", "bright_").replace("__", "_")


def text(screen: pyte.Screen) -> Text:
    """Return the screen up to its last line that is not empty, without secrets or the name of a home."""
    last = max((number for number, line in screen.buffer.items() if line), default=0)
    lines = [_row(screen, number) for number in range(last + 1)]
    for number in range(last + 1):
        line = lines[number]
        if key := KEY.search(line.plain):
            line = Text.assemble(line[: key.start()], "(a key of 64 digits)", line[key.end() :])
        # A path may go over the edge of the terminal.
        after = lines[number + 1] if len(line) == screen.columns and number < last else Text()
        while (at := (line.plain + after.plain).find(HOME)) >= 0 and at < len(line):
            over = at + len(HOME) - len(line)
            line = Text.assemble(line[:at], "~", line[at + len(HOME) :] if over < 0 else "")
            if over > 0:
                after = after[over:]
                lines[number + 1] = after
        lines[number] = line
    whole = Text("\n").join(lines)
    whole.rstrip()
    return whole


def _row(screen: pyte.Screen, number: int) -> Text:
    line = Text()
    for column in range(screen.columns):
        cell = screen.buffer[number][column]
        style = Style(
            color=_colour(cell.fg),
            bgcolor=_colour(cell.bg),
            bold=cell.bold,
            italic=cell.italics,
            underline=cell.underscore,
            reverse=cell.reverse,
        )
        line.append(cell.data, style)
    line.rstrip()
    return line


def picture(shown: Text, title: str, columns: int) -> str:
    """Return the picture as SVG."""
    console = Console(record=True, width=columns, file=io.StringIO())
    console.print(Text.assemble(("$ ", "bold green"), title), soft_wrap=True)
    console.print(shown)
    drawn = console.export_svg(title=title, theme=MONOKAI, unique_id="terminal")
    return LICENCE + FONTS.sub("", drawn).replace("Fira Code, monospace", FAMILY)


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, metavar="FILE.svg")
    parser.add_argument("--columns", type=int, default=110)
    parser.add_argument(
        "--title", help="what is shown as having been typed, else the command itself"
    )
    parser.add_argument("command", nargs="+", metavar="COMMAND")
    asked = parser.parse_args()
    screen, code = run(asked.command, asked.columns)
    title = asked.title or " ".join(asked.command)
    asked.file.write_text(picture(text(screen), title, asked.columns), encoding="utf-8")
    sys.exit(code)


if __name__ == "__main__":
    main()
