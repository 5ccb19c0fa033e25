# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Write roles/*/README.md from the roles' argument specs: python docs/role_readmes.py."""

from __future__ import annotations

from pathlib import Path

import yaml

from docs.options import prose, table

ROLES = Path(__file__).resolve().parents[1] / "roles"


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
            lines += ["", prose(spec["description"])]
        options = spec.get("options") or {}
        if options:
            lines += ["", *table("variable", options)]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the READMEs of all roles."""
    for specs in sorted(ROLES.glob("*/meta/argument_specs.yml")):
        role = specs.parents[1]
        (role / "README.md").write_text(render(role), encoding="utf-8")


if __name__ == "__main__":
    main()
