# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A picture shows what a program left on a terminal, and no secret."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs import terminal

KEY = "0123456789abcdef" * 4
PROGRAM = f"""
import sys
print("\\033[31mred\\033[0m", sys.stdout.isatty())
print("gone\\rover")
print("key {KEY} (new)")
print({str(Path.home() / "x")!r})
print("." * 78 + {str(Path.home() / "over")!r})
sys.exit(3)
"""


def test_what_stays_on_the_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, program = tmp_path / "picture.svg", tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    given = ["terminal", str(file), "--columns", "80", "--", sys.executable, str(program)]
    monkeypatch.setattr(sys, "argv", given)
    with pytest.raises(SystemExit) as ended:
        terminal.main()
    assert ended.value.code == 3
    drawn = file.read_text(encoding="utf-8")
    assert "SPDX-License-Identifier: Apache-2.0" in drawn.splitlines()[1]
    assert KEY not in drawn
    shown = " ".join("".join(ElementTree.fromstring(drawn).itertext()).split())
    # Each change of colour is an element of its own.
    for said in ("redTrue", "over", "key(a key of 64 digits)(new)", "~/x"):
        assert said in shown.replace("\xa0", " ")
    assert "@font-face" not in drawn
    shown = "".join(ElementTree.fromstring(drawn).itertext())
    assert re.search(r"\.{78}~\s*/over", shown)
