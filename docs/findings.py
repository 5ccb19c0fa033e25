# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Write docs/findings.md from the rules of the diagnosis: python docs/findings.py.

The site has a page for each rule, too, with the signs that the rule goes by and a log of the corpus.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.samewire.vllm.plugins.module_utils._diagnosis import RULES, diagnose
from ansible_collections.samewire.vllm.plugins.module_utils._signatures import (
    CAUSE,
    CERTAIN,
    CONSEQUENCE,
    HINT,
    LIKELY,
    SYMPTOM,
    Rule,
    Signature,
)

ROOT = Path(__file__).resolve().parents[1]
_ROLES = {
    CAUSE: "a cause",
    SYMPTOM: "a symptom where a cause stands beside it",
    CONSEQUENCE: "a consequence",
}
_STRENGTHS = {
    CERTAIN: "names the fault",
    LIKELY: "usually means it",
    HINT: "counts only in a run that never got ready",
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


def pages() -> dict[str, str]:
    """Return the page of each finding, by its path in the site."""
    return {f"findings/{rule.id}.md": _page(rule) for rule in RULES}


def _section(rule: Rule) -> str:
    return "\n".join([f"## {rule.id}", "", *_known(rule), ""])


def _known(rule: Rule) -> list[str]:
    setting = [f"- Setting: `{rule.variable}`"] if rule.variable else []
    return [
        rule.cause,
        "",
        f"- Layer: {rule.layer}; {_ROLES[rule.role]}",
        f"- Remedy: {rule.remedy}",
        *setting,
        f"- Source: <{rule.link}>",
    ]


def _page(rule: Rule) -> str:
    explained = ", ".join(f"[{each}]({each}.md)" for each in rule.explains)
    case = _cases()[rule.id]
    (found, *_) = diagnose([("log", case["log"])])
    return "\n".join(
        [
            f"# {rule.id}",
            "",
            *_known(rule),
            *([f"- Explains: {explained}, where they are found beside it"] if explained else []),
            "",
            "## Evidence",
            "",
            "A message that holds the words and matches the form, in capitals or not:",
            "",
            "| words | form | it |",
            "|---|---|---|",
            *map(_sign, rule.signatures),
            "",
            "For example:",
            "",
            "```text",
            *(event.text for event in found.evidence),
            "```",
            "",
        ]
    )


def _sign(signature: Signature) -> str:
    form = f"`{signature.pattern}`" if signature.pattern else ""
    return f"| `{signature.needle}` | {form} | {_STRENGTHS[signature.strength]} |"


@cache
def _cases() -> dict[str, dict[str, Any]]:
    """Return the first case of the corpus for each finding."""
    cases: dict[str, dict[str, Any]] = {}
    for file in sorted((ROOT / "tests/corpus/logs").glob("*.yml")):
        case = yaml.safe_load(file.read_text(encoding="utf-8"))
        cases.setdefault(case["class"], case)
    return cases


def main() -> None:
    """Write the page."""
    (ROOT / "docs/findings.md").write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
