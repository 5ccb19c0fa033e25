# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Write roles/*/README.md from the roles' argument specs: python docs/role_readmes.py."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

ROLES = Path(__file__).resolve().parents[1] / "roles"


def _prose(text: str | list[str]) -> str:
    """Return a description in Markdown: Ansible's C(code), M(module) and P(plugin#type) as code."""
    joined = text if isinstance(text, str) else " ".join(text)
    return re.sub(r"\b[CMP]\(([^)#]*)(?:#[a-z]+)?\)", r"`\1`", joined)


def _default(option: dict[str, Any]) -> str:
    if "default" in option:
        return f"`{option['default']!r}`" if option["default"] == "" else f"`{option['default']}`"
    return "required" if option.get("required") else "-"


def _row(name: str, option: dict[str, Any]) -> str:
    choices = ", ".join(f"`{choice}`" for choice in option.get("choices", []))
    text = _prose(option["description"]) + (f" One of {choices}." if choices else "")
    return f"| `{name}` | {option['type']} | {_default(option)} | {text} |"


def render(role: Path) -> str:
    """Return the README of a role."""
    specs = yaml.safe_load((role / "meta/argument_specs.yml").read_text(encoding="utf-8"))
    lines = [
        "<!-- SPDX-FileCopyrightText: The Samewire authors -->",
        "<!-- SPDX-License-Identifier: Apache-2.0 -->",
        "<!-- Written by docs/role_readmes.py from meta/argument_specs.yml. -->",
        f"# Role samewire.vllm.{role.name}",
    ]
    for entry, spec in specs["argument_specs"].items():
        if entry != "main":
            lines += ["", f"## Entry point `{entry}`"]
        lines += ["", f"{spec['short_description']}."]
        if "description" in spec:
            lines += ["", _prose(spec["description"])]
        options = spec.get("options") or {}
        if options:
            lines += ["", "| variable | type | default | meaning |", "|---|---|---|---|"]
            lines += [_row(name, option) for name, option in options.items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the READMEs of all roles."""
    for specs in sorted(ROLES.glob("*/meta/argument_specs.yml")):
        role = specs.parents[1]
        (role / "README.md").write_text(render(role), encoding="utf-8")


if __name__ == "__main__":
    main()
