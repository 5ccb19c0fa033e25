# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What docs/start.md lets people type works on the lab, from the first command to the last."""

from __future__ import annotations

import pytest

from tests.lab.driver import ROOT, samewire
from tests.unit.docs.pages import consoles

COMMANDS = [
    command
    for command in consoles(ROOT / "docs" / "start.md")
    if command.words[0] == "samewire" and command.words[1] != "lab"
]

pytestmark = pytest.mark.deploys


@pytest.mark.parametrize("number", range(len(COMMANDS)), ids=lambda number: COMMANDS[number].line)
def test_a_command_of_the_first_page(number: int) -> None:
    command = COMMANDS[number]
    done = samewire(*command.words[1:])
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout
    if command in COMMANDS[:number]:
        # It is said there that the same deployment again changes nothing.
        assert "0 changed" in done.stdout
