# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""vLLM's own benchmark, in the container of the server, on the head."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samewire.connection import Connection, Unreached

# The program of the benchmark says so where what it needs was left out of the image.
LACKING = ("No module named", "invalid choice: 'bench'", "vllm[bench]", "ImportError")
ERROR = re.compile(r"^(?:[\w.]*(?:Error|Exception)|.*: error): (.+)", re.MULTILINE)
PROMPT_TOKENS = 128
RESULT = "/tmp/samewire-bench.json"


class BenchmarkProblem(RuntimeError):
    """A benchmark that did not come to its end; the message is one sentence."""


@dataclass(frozen=True)
class Size:
    """How much is asked of the server; tokens: of each answer."""

    requests: int
    concurrency: int
    tokens: int


def arguments(url: str, model: str, path: str, size: Size) -> list[str]:
    """Return those of `vllm bench serve`; source: vLLM 0.32, vllm/benchmarks/serve.py.

    model: as the server calls it; path: where its tokenizer is, or a hub id. It would ask the server for
    both, but without the key.
    """
    said = [
        *("--backend", "openai", "--base-url", url, "--model", model, "--tokenizer", path),
        *("--dataset-name", "random", "--random-input-len", str(PROMPT_TOKENS)),
        *("--random-output-len", str(size.tokens), "--ignore-eos"),
        *("--num-prompts", str(size.requests), "--max-concurrency", str(size.concurrency)),
    ]
    # It asks from the host itself, where a certificate proves nothing.
    return [*said, "--insecure"] if url.startswith("https:") else said


def script(cluster: str, given: Sequence[str]) -> str:
    """Return the script of sh that runs it on the head: its report goes to stderr, its result to stdout."""
    # The key is in a file of the container, which its entry point reads; so no command line has it.
    inside = 'OPENAI_API_KEY="${VLLM_API_KEY-}" exec vllm bench serve "$@"'
    saved = ["--save-result", "--result-dir", "/tmp", "--result-filename", Path(RESULT).name]
    bench = shlex.join(["/bin/sh", "/samewire/run.sh", "sh", "-c", inside, "bench", *given, *saved])
    within = f"docker exec {shlex.quote(f'{cluster}-vllm')}"
    return f"{within} {bench} >&2 && {within} cat {RESULT} && {within} rm {RESULT}"


def run(head: Connection, cluster: str, given: Sequence[str], folder: Path) -> tuple[str, Any]:
    """Return its report and its result; folder: where ssh is started.

    Raises:
        BenchmarkProblem: It ended with an error, or the head cannot be reached.
    """
    try:
        done = head.run(script(cluster, given), folder)
    except Unreached as problem:
        raise BenchmarkProblem(str(problem)) from problem
    if done.returncode:
        raise BenchmarkProblem(_problem(head.host, cluster, done.stderr))
    return report(done.stderr), json.loads(done.stdout)


def report(said: str) -> str:
    """Return the table of the benchmark, without what was logged before it."""
    lines = said.splitlines()
    begins = [number for number, line in enumerate(lines) if line.startswith("====")]
    return "\n".join(lines[begins[-2] if len(begins) > 1 else 0 :])


def _problem(host: str, cluster: str, said: str) -> str:
    lines = ERROR.findall(said) or said.strip().splitlines() or ["it said nothing"]
    if any(sign in said for sign in LACKING):
        cure = "use an image that has vllm[bench], or leave --vllm out"
    else:
        cure = f"look at samewire status and at docker logs {cluster}-vllm on {host}"
    got = lines[-1].strip()
    return f"{host}: vLLM's benchmark does not end well: expected its report, got: {got}; {cure}."
