# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Options of roles, modules and filters as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

Options = Mapping[str, Mapping[str, Any]]


def prose(text: str | list[str]) -> str:
    """Return a description in Markdown: Ansible's C(code), M(module) and the like as code."""
    joined = text if isinstance(text, str) else " ".join(text)
    return re.sub(r"\b[CEIMOPRV]\(([^)#]*)(?:#[a-z]+)?\)", r"`\1`", joined)


def flat(entries: Options, within: str, above: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every entry, those within others under a dotted name; within: the key that holds them."""
    for name, entry in entries.items():
        yield above + name, entry
        yield from flat(entry.get(within) or {}, within, f"{above}{name}.")


def table(title: str, options: Options) -> list[str]:
    """Return the lines of the table of options; title: what an option is called."""
    head = [f"| {title} | type | default | meaning |", "|---|---|---|---|"]
    return head + [_row(name, option) for name, option in flat(options, "options")]


def _row(name: str, option: Mapping[str, Any]) -> str:
    choices = ", ".join(f"`{choice}`" for choice in option.get("choices", []))
    text = prose(option["description"]) + (f" One of {choices}." if choices else "")
    return f"| `{name}` | {option.get('type', 'str')} | {_default(option)} | {text} |"


def _default(option: Mapping[str, Any]) -> str:
    if "default" in option:
        return f"`{option['default']!r}`" if option["default"] == "" else f"`{option['default']}`"
    return "required" if option.get("required") else "-"
