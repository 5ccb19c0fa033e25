# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Models of the hub: which revision is meant, who downloads, and what a download says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any

from . import _weights

_MAIN = "main"
# vLLM reads none of these where there are safetensors.
_OTHER_FORMATS = ("*.bin", "*.pt", "*.pth", "*.h5", "*.msgpack", "*.onnx", "*.ot", "*.ckpt")


@dataclass(frozen=True)
class Asked:
    """What is wanted of the hub; token: whether one was sent."""

    model: str
    endpoint: str
    revision: str = _MAIN
    token: bool = False


def revision(arguments: Sequence[str]) -> str:
    """Return the revision that the arguments of `vllm serve` name, else the hub's default branch."""
    named = _MAIN
    for argument, following in zip(arguments, [*arguments[1:], ""]):
        if argument == "--revision" and following:
            named = following
        elif argument.startswith("--revision="):
            named = argument.partition("=")[2]
    return named


def excluded(names: Iterable[str], exclude: Sequence[str]) -> list[str]:
    """Return the patterns of what is not downloaded: also other formats, where there are safetensors."""
    kept = [name for name in names if not _matches(name, exclude)]
    safe = any(name.endswith(".safetensors") for name in kept)
    return [*exclude, *(_OTHER_FORMATS if safe else ())]


def wanted(files: Mapping[str, Any], exclude: Sequence[str]) -> dict[str, Any]:
    """Return the files of a repository that are downloaded, by name."""
    patterns = excluded(files, exclude)
    return {name: each for name, each in files.items() if not _matches(name, patterns)}


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def answer(status: int, message: str, code: str, told: object) -> dict[str, Any]:
    """Return what the hub says of a model: status, reason, code, commit, and files with their sizes.

    status: of HTTP, -1 without an answer; message, code: the hub's own; told: what model_info returned.
    Source: huggingface_hub 2.4, hf_api.model_info and utils/_http.hf_raise_for_status.
    """
    listed = told if isinstance(told, Mapping) else {}
    return {
        "status": status,
        "reason": message,
        "code": code,
        "commit": str(listed.get("sha") or ""),
        "files": {
            str(each["rfilename"]): {"size": int(each.get("size") or 0)}
            for each in listed.get("siblings") or ()
        },
        "config": None,
    }


def downloader(
    answers: Mapping[str, Mapping[str, Any]], asked: Asked, head: str, pinned: str = ""
) -> tuple[str | None, list[str]]:
    """Return the host that downloads a model, and why none can.

    answers: by host, what module hub_info returned; pinned: the host to take.
    """
    if pinned and pinned not in answers:
        return None, [
            f"model_weights_downloader is {pinned}, expected one of {', '.join(sorted(answers))}; correct it "
            "in the inventory"
        ]
    hosts = [pinned] if pinned else sorted(answers, key=lambda host: (host != head, host))
    reached = [host for host in hosts if answers[host]["status"] > 0]
    # A hub that stumbles for one host may serve the next; a refusal is meant for all.
    reached.sort(key=lambda host: answers[host]["status"] >= 500)
    if reached:
        return reached[0], refusal(reached[0], answers[reached[0]], asked)
    reasons = ", ".join(f"{host}: {answers[host]['reason'] or 'no answer'}" for host in hosts)
    return None, [
        f"no host has {asked.model}, and the hub at {asked.endpoint} is not reached ({reasons}); open the "
        "way to it from one host, set HF_ENDPOINT or HTTPS_PROXY in ray_node_environment, or copy the model "
        "to a host and give its path as vllm_server_model"
    ]


def refusal(host: str, got: Mapping[str, Any], asked: Asked) -> list[str]:
    """Return why the hub does not give a model to a host, none where it does."""
    model, endpoint, status = asked.model, asked.endpoint, got["status"]
    hint = "a token without it" if asked.token else "no token"
    if got["code"] == "GatedRepo":
        return [
            f"{host}: {model} is gated, expected a token of an account that was granted access at "
            f"{endpoint}/{model}, got {hint}; set vllm_server_hf_token"
        ]
    if got["code"] == "RevisionNotFound":
        return [
            f"{host}: {model} has no revision {asked.revision}; correct --revision in "
            "vllm_server_extra_args"
        ]
    if status in (401, 403, 404):
        return [
            f"{host}: the hub at {endpoint} has no model {model}, or shows it only to others, got {hint}; "
            "correct vllm_server_model or set vllm_server_hf_token"
        ]
    if status != 200:
        return [
            f"{host}: the hub at {endpoint} answers {status} for {model} ({got['reason']}), expected its "
            "files; run again later, or set HF_ENDPOINT in ray_node_environment to another hub"
        ]
    if not any(name.endswith(_weights.WEIGHTS) for name in got["files"]):
        return [
            f"{host}: {model} has no weights at {endpoint}, expected files that end in "
            f"{', '.join(_weights.WEIGHTS)}; correct vllm_server_model or --revision in "
            "vllm_server_extra_args"
        ]
    return []


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
