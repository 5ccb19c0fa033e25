# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Every command of the documentation is one that the programs take, and prints what the page says."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from ansible.cli.doc import DocCLI
from ansible.cli.playbook import PlaybookCLI
from ansible.cli.vault import VaultCLI
from typer.testing import CliRunner

from docs.reference import commands
from samewire import cli
from tests.unit.docs.pages import PAGES, ROOT, Command, command_lines, consoles, inline

COMMANDS = commands()
ANSIBLE = {"ansible-doc": DocCLI, "ansible-playbook": PlaybookCLI, "ansible-vault": VaultCLI}
TARGETS = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@functools.cache
def variables() -> set[str]:
    """Return the variables of all roles."""
    specs = [yaml.safe_load(file.read_text()) for file in ROOT.glob("roles/*/meta/*_specs.yml")]
    entries = [entry for spec in specs for entry in spec["argument_specs"].values()]
    return {name for entry in entries for name in entry.get("options") or {}}


def wrong_samewire(words: Sequence[str]) -> str:
    """Return what the driver does not take of a whole command, empty where it takes all of it."""
    name = next((each for each in COMMANDS if list(words[: len(each.split())]) == each.split()), "")
    if not name:
        return f"{' '.join(words)}: no such command"
    command = COMMANDS[name]
    parser = command.make_parser(typer.Context(command))
    try:
        given, left, _ = parser.parse_args(list(words[len(name.split()) :]))
    except Exception as error:  # noqa: BLE001 - the class of typer's own copy of click is private
        return f"{' '.join(words)}: {error}"
    missing = [each.name for each in command.params if each.required and not given.get(each.name)]
    return f"{' '.join(words)}: {left} {missing}" if left or missing else ""


def wrong_ansible(words: Sequence[str]) -> str:
    program = ANSIBLE[words[0]](list(words))
    program.init_parser()
    try:
        given = program.parser.parse_args(words[1:])
    except SystemExit:
        return f"{' '.join(words)}: refused by {words[0]}"
    missing = [
        named
        for named in (given.args if words[0] == "ansible-playbook" else [])
        if not (ROOT / named).is_file()
        and not (ROOT / "playbooks" / f"{named.removeprefix('samewire.vllm.')}.yml").is_file()
    ]
    return f"{' '.join(words)}: no playbook {missing}" if missing else ""


def wrong_make(words: Sequence[str]) -> str:
    # In CONTRIBUTING.md, what a target does stands behind it.
    return "" if set(words[1:2]) <= set(TARGETS) else f"make {words[1]}: no such target"


WRONG: dict[str, Callable[[Sequence[str]], str]] = {
    "samewire": wrong_samewire,
    "make": wrong_make,
    **dict.fromkeys(ANSIBLE, wrong_ansible),
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_is_one(page: Path) -> None:
    said = [WRONG[words[0]](words) for words in command_lines(page) if words and words[0] in WRONG]
    assert [each for each in said if each] == []


def test_what_is_no_command_is_found() -> None:
    assert wrong_samewire(["samewire", "deploy", "-i", "mine", "--chek"]).endswith("--chek")
    assert wrong_samewire(["samewire", "deploi"]) == "samewire deploi: no such command"
    assert wrong_samewire(["samewire", "stop"]) == "samewire stop: [] ['inventory']"
    assert wrong_ansible(["ansible-playbook", "samewire.vllm.deploi"]).endswith("deploi']")
    assert wrong_ansible(["ansible-playbook", "--chek", "deploy.yml"]).endswith("ansible-playbook")
    assert wrong_make(["make", "lnt"]) == "make lnt: no such target"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_variables_of_commands_exist(page: Path) -> None:
    words = [word for line in command_lines(page) for word in line]
    files = [word for word in words if word.startswith(("bench/", "docs/", "tests/"))]
    assert [file for file in files if not (ROOT / file).exists()] == []
    given = [word.partition("=")[0] for word in words if re.match(r"[a-z_]+=", word)]
    assert set(given) <= variables()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_verbs_and_options_within_sentences_exist(page: Path) -> None:
    wrong = []
    for code in inline(page):
        words = code.split()
        if words[0] != "samewire" or len(words) == 1 or words[1].isupper():
            continue
        verbs = [name for name in COMMANDS if f"{code} ".startswith((f"{name} ", f"{name}|"))]
        known: list[Any] = [option for name in verbs for option in COMMANDS[name].params]
        options = {option for each in known for option in each.opts} | {"--help"}
        if not verbs or not {word for word in words if word.startswith("-")} <= options:
            wrong.append(code)
    assert wrong == []


def runs() -> list[Command]:
    """Return the commands that need no host: those on files of this repository."""
    every = [command for page in PAGES for command in consoles(page)]
    return [
        command
        for command in every
        if command.words[:1] == ["samewire"]
        and command.words[1] in ("plan", "diagnose")
        and (ROOT / command.words[-1]).is_file()
    ]


@pytest.mark.parametrize("command", runs(), ids=lambda command: command.line)
def test_a_command_prints_what_the_page_says(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(cli.app, command.words[1:], catch_exceptions=False)
    if command.output:
        assert result.output == command.output
    else:
        assert result.output
