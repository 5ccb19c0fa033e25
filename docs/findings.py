# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Write docs/findings.md from the rules of the diagnosis: python docs/findings.py."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.samewire.vllm.plugins.module_utils._diagnosis import RULES
from ansible_collections.samewire.vllm.plugins.module_utils._signatures import (
    CAUSE,
    CONSEQUENCE,
    SYMPTOM,
    Rule,
)

ROOT = Path(__file__).resolve().parents[1]
_ROLES = {
    CAUSE: "a cause",
    SYMPTOM: "a symptom where a cause stands beside it",
    CONSEQUENCE: "a consequence",
}

_HEAD = """<!-- SPDX-FileCopyrightText: The Samewire authors -->
<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Written by docs/findings.py from plugins/module_utils/_signatures_*.py. -->
# Findings

What `samewire diagnose` tells from the logs of vLLM, Ray, PyTorch, Gloo, NCCL, CUDA and Docker. The first
finding is the cause; those below it are its consequences, or less sure. A healthy log has none.
"""


def render() -> str:
    """Return the page of all findings."""
    return "\n".join([_HEAD, *(_section(rule) for rule in sorted(RULES, key=lambda rule: rule.id))])


def _section(rule: Rule) -> str:
    setting = [f"- Setting: `{rule.variable}`"] if rule.variable else []
    rows = [
        f"## {rule.id}",
        "",
        rule.cause,
        "",
        f"- Layer: {rule.layer}; {_ROLES[rule.role]}",
        f"- Remedy: {rule.remedy}",
        *setting,
        f"- Source: <{rule.link}>",
    ]
    return "\n".join([*rows, ""])


def main() -> None:
    """Write the page."""
    (ROOT / "docs/findings.md").write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
