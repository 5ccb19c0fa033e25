# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""vLLM's own benchmark: what it is asked for, and what is said where it does not end well."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from samewire import cli, vllm_bench
from samewire.connection import Connection

SIZE = vllm_bench.Size(requests=10, concurrency=4, tokens=16)
HERE = Connection("spark0", "this machine")

DOCKER = """#!{python}
import sys
if "cat" in sys.argv:
    print('{{"completed": 10}}')
elif "rm" not in sys.argv:
    open({asked!r}, "w").write("\\n".join(sys.argv[1:]))
    print({said!r})
    sys.exit({code})
"""


def docker(folder: Path, monkeypatch: pytest.MonkeyPatch, said: str, code: int) -> Path:
    """Put a program in Docker's place that says what the benchmark says; return what it was asked."""
    program, asked = folder / "docker", folder / "asked"
    text = DOCKER.format(python=sys.executable, asked=str(asked), said=said, code=code)
    program.write_text(text.replace("\\\\n", "\\n"), encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return asked


def test_the_report_and_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = "INFO: starting\n==== Result ====\nSuccessful requests: 10\n================"
    asked = docker(tmp_path, monkeypatch, table, 0)
    given = vllm_bench.arguments("http://10.1.0.1:8000", "tiny", "/models/tiny", SIZE)
    report, result = vllm_bench.run(HERE, "lab", [*given, "--request-rate", "8"], tmp_path)
    assert report == "==== Result ====\nSuccessful requests: 10\n================"
    assert result == {"completed": 10}
    words = asked.read_text().splitlines()
    assert words[:4] == ["exec", "lab-vllm", "/bin/sh", "/samewire/run.sh"]
    for name, value in (
        *(("--base-url", "http://10.1.0.1:8000"), ("--model", "tiny")),
        *(("--tokenizer", "/models/tiny"), ("--num-prompts", "10")),
        *(("--max-concurrency", "4"), ("--random-output-len", "16"), ("--request-rate", "8")),
    ):
        assert words[words.index(name) + 1] == value
    assert "--insecure" not in words


def test_a_certificate_proves_nothing_on_the_host_itself() -> None:
    given = vllm_bench.arguments("https://10.1.0.1:8000", "tiny", "/models/tiny", SIZE)
    assert given[-1] == "--insecure"


@pytest.mark.parametrize(
    ("said", "got", "cure"),
    [
        (
            "Traceback\nModuleNotFoundError: No module named 'pandas'",
            "No module named 'pandas'",
            "use an image that has vllm[bench], or leave --vllm out",
        ),
        (
            "vllm: error: argument subparser: invalid choice: 'bench' (choose from chat, serve)",
            "argument subparser: invalid choice: 'bench' (choose from chat, serve)",
            "use an image that has vllm[bench], or leave --vllm out",
        ),
        (
            "serve: error: argument --dataset-name: invalid choice: 'x'",
            "argument --dataset-name: invalid choice: 'x'",
            "look at samewire status and at docker logs lab-vllm on spark0",
        ),
        ("", "it said nothing", "look at samewire status and at docker logs lab-vllm on spark0"),
    ],
)
def test_it_does_not_end_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, got: str, cure: str
) -> None:
    docker(tmp_path, monkeypatch, said, 1)
    with pytest.raises(vllm_bench.BenchmarkProblem) as told:
        vllm_bench.run(HERE, "lab", [], tmp_path)
    assert str(told.value) == (
        f"spark0: vLLM's benchmark does not end well: expected its report, got: {got}; {cure}."
    )


@pytest.mark.parametrize(
    ("ssh", "sentence"),
    [
        (
            "sh -c 'echo ssh: connect to host 10.1.0.1 port 22: No route to host >&2; exit 255'",
            "spark0: cannot be reached over SSH at root@10.1.0.1 (ssh: connect to host 10.1.0.1 port 22: No "
            "route to host); check ansible_host, ansible_user and the key with: ssh root@10.1.0.1",
        ),
        (
            "/nowhere/ssh",
            "spark0: /nowhere/ssh cannot be started (No such file or directory); install it on this machine",
        ),
    ],
)
def test_a_head_that_ssh_does_not_reach(tmp_path: Path, ssh: str, sentence: str) -> None:
    head = Connection("spark0", "root@10.1.0.1", ssh=tuple(shlex.split(ssh)))
    with pytest.raises(vllm_bench.BenchmarkProblem) as told:
        vllm_bench.run(head, "lab", [], tmp_path)
    assert str(told.value) == sentence


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ["--vllm", "--seconds", "4"],
            "'--seconds': expected --requests with --vllm, whose length is a number of requests, got "
            "--seconds",
        ),
        (["--requests", "4"], "'--requests': expected --vllm with it"),
        (["--", "--request-rate", "3"], "'ARGUMENT': expected --vllm with it"),
    ],
)
def test_options_of_one_benchmark_for_the_other(given: list[str], said: str) -> None:
    done = CliRunner().invoke(cli.app, ["bench", "-i", "lab", *given])
    assert done.exit_code == 2
    assert f"Invalid value for {said}" in done.stderr
