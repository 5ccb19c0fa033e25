# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Models of the hub: which revision is meant, who downloads, and what a download says."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

_MAIN = "main"


def revision(arguments: Sequence[str]) -> str:
    """Return the revision that the arguments of `vllm serve` name, else the hub's default branch."""
    named = _MAIN
    for argument, following in zip(arguments, [*arguments[1:], ""]):
        if argument == "--revision" and following:
            named = following
        elif argument.startswith("--revision="):
            named = argument.partition("=")[2]
    return named


def downloader(
    answers: Mapping[str, Mapping[str, Any]], model: str, endpoint: str, head: str, pinned: str = ""
) -> tuple[str | None, list[str]]:
    """Return the host that downloads a model, or why none can.

    answers: by host, what module uri returned of the hub, status -1 where it was not reached; pinned: the
    host to take.
    """
    if pinned and pinned not in answers:
        return None, [
            f"model_weights_downloader is {pinned}, expected one of {', '.join(sorted(answers))}; correct it "
            "in the inventory"
        ]
    hosts = [pinned] if pinned else sorted(answers, key=lambda host: (host != head, host))
    for host in hosts:
        # Also a refusal is an answer; who downloads says what it means.
        if answers[host].get("status", -1) > 0:
            return host, []
    reasons = ", ".join(f"{host}: {_reason(answers[host])}" for host in hosts)
    return None, [
        f"no host has {model}, and the hub at {endpoint} is not reached ({reasons}); open the way to it "
        "from one host, set HF_ENDPOINT or HTTPS_PROXY in ray_node_environment, or copy the model to a host "
        "and give its path as vllm_server_model"
    ]


def _reason(answer: Mapping[str, Any]) -> str:
    # Ansible wraps what the system said in sentences of its own.
    said = str(answer.get("msg") or "no answer").rpartition("Request failed: ")[2]
    return said.removeprefix("<urlopen error ").removesuffix(">")


def judged(lines: Sequence[str], code: int | None) -> dict[str, Any]:
    """Return how far a download is.

    lines: what the program printed, a JSON object a line where it is its own; code: with which the
    container ended, None while it runs.
    """
    progress = problem = ""
    for line in lines:
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict):
            progress = said.get("progress", progress)
            problem = said.get("problem", problem)
    if code and not problem:
        problem = (
            f"the download ended with code {code}: {lines[-1] if lines else 'it said nothing'}"
        )
    return {"over": code == 0, "problem": problem if code else "", "progress": progress}
