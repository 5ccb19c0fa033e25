# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The pages of the reference, each from what the code itself says: commands, playbooks, roles, plugins."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
import yaml

from docs import role_readmes
from docs.options import flat, prose, table
from samewire.cli import app

ROOT = Path(__file__).resolve().parents[1]
COLLECTION = "samewire.vllm"
KINDS = {"modules": "Module", "filter": "Filter"}


def pages() -> dict[str, str]:
    """Return the Markdown of every page, by its path in the site."""
    return {
        "reference/command-line.md": _command_line(),
        "reference/playbooks.md": _playbooks(),
        **{
            f"reference/roles/{specs.parents[1].name}.md": role_readmes.render(specs.parents[1])
            for specs in sorted(role_readmes.ROLES.glob("*/meta/argument_specs.yml"))
        },
        **{
            f"reference/{kind}/{file.stem}.md": _plugin(kind, file.stem)
            for kind in KINDS
            for file in sorted((ROOT / "plugins" / kind).glob("*.py"))
        },
    }


def commands() -> dict[str, Any]:
    """Return every command of the driver without commands below it, by its full name."""
    return dict(_leaves("samewire", typer.main.get_command(app)))


def _leaves(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield name, command
        return
    for below, each in command.commands.items():
        yield from _leaves(f"{name} {below}", each)


def _command_line() -> str:
    lines = [
        "# Command line",
        "",
        "What `samewire COMMAND --help` prints. An inventory is a path, or the name of one that ships.",
    ]
    for name, command in commands().items():
        context = typer.Context(command, info_name=name, max_content_width=100, terminal_width=100)
        lines += ["", f"## {name}", "", "```text", command.get_help(context), "```"]
    return "\n".join(lines) + "\n"


def _playbooks() -> str:
    lines = ["# Playbooks", "", "Each runs by its name where the collection is installed:"]
    lines += ["`ansible-playbook -i INVENTORY samewire.vllm.NAME`.", ""]
    verbs = commands()
    for file in sorted((ROOT / "playbooks").glob("*.yml")):
        text = file.read_text(encoding="utf-8")
        plays: list[dict[str, Any]] = yaml.safe_load(text)
        about = text.partition("\n---\n")[2].partition("\n\n")[0]
        verb = f"samewire {file.stem}"
        lines += [f"## {COLLECTION}.{file.stem}", ""]
        lines += [line.removeprefix("# ") for line in about.splitlines()]
        lines += [
            "",
            f"By the driver: `{verb}`." if verb in verbs else "The driver has no verb for it.",
        ]
        lines += ["", *(f"1. {play['name']}" for play in plays), ""]
    return "\n".join(lines)


def _plugin(kind: str, name: str) -> str:
    source = importlib.import_module(f"ansible_collections.{COLLECTION}.plugins.{kind}.{name}")
    about = yaml.safe_load(source.DOCUMENTATION)
    options = dict(about.get("options") or {})
    lines = [
        f"# {KINDS[kind]} {COLLECTION}.{name}",
        "",
        f"{prose(about['short_description'])}.",
        *_paragraphs(about.get("description", [])),
    ]
    if kind == "filter":
        given = f"({about['positional']})" if about.get("positional") else ""
        lines += ["", f"Form: `INPUT | {COLLECTION}.{name}{given}`"]
        options = {"INPUT": options.pop("_input"), **options}
    if "requirements" in about:
        lines += ["", "Needs:", "", *(f"- {prose(each)}" for each in about["requirements"])]
    if options:
        lines += ["", "## Options", "", *table("option", options)]
    lines += ["", "## Example", "", "```yaml", source.EXAMPLES.strip("\n"), "```"]
    return "\n".join([*lines, *_returned(yaml.safe_load(source.RETURN) or {})]) + "\n"


def _paragraphs(text: str | Sequence[str]) -> list[str]:
    each = [text] if isinstance(text, str) else text
    return [line for paragraph in each for line in ("", prose(paragraph))]


def _returned(values: Mapping[str, Mapping[str, Any]]) -> list[str]:
    if not values:
        return []
    lines = ["", "## Returned", "", "| value | type | meaning |", "|---|---|---|"]
    for name, value in flat(values, "contains"):
        lines.append(f"| `{name}` | {value['type']} | {prose(value['description'])} |")
    samples = {name: value["sample"] for name, value in values.items() if "sample" in value}
    if samples:
        written = yaml.safe_dump(samples, sort_keys=False, allow_unicode=True, width=100)
        lines += ["", "For example:", "", "```yaml", written.rstrip(), "```"]
    return lines
