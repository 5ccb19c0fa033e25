# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The verb bench, on a server that streams completions as vLLM does."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from samewire import bench, bench_command, cli

KEY = "key-of-the-api"


class Server(BaseHTTPRequestHandler):
    """Streams as many tokens as it is asked for, two in each piece, unless told otherwise."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    how = "well"
    asked: list[dict[str, Any]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(body)
        checked = len(self.asked) > 1
        if self.headers["Authorization"] != f"Bearer {KEY}":
            self._refuse(401, "no key")
        elif self.how == "refuses" and checked:
            self._refuse(503, "overloaded\nfor long")
        else:
            self._stream(body["max_tokens"], self.how if checked else "well")

    def _refuse(self, code: int, text: str) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def _stream(self, tokens: int, how: str) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if how == "stalls":
            time.sleep(1.5)
        for sent in range(0, tokens if how != "stalls" else 0, 2):
            time.sleep(0.01)
            usage = {"completion_tokens": min(sent + 2, tokens)}
            self._event({"choices": [{"text": "so so "}], "usage": usage})
            if how == "gives up":
                self._event({"error": {"message": "EngineDeadError", "code": 500}})
        self._event({"choices": [], "usage": {"completion_tokens": tokens}})
        self._write(b"data: [DONE]\n\n")
        self._write(b"")

    def _event(self, document: Any) -> None:
        self._write(b"data: " + json.dumps(document).encode() + b"\n\n")

    def _write(self, data: bytes) -> None:
        try:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        except OSError:
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


class Quiet(ThreadingHTTPServer):
    """Says nothing of clients that hang up: stderr is where the verb speaks."""

    def handle_error(self, *_: Any) -> None:
        """Keep quiet."""


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    Server.asked, Server.how = [], "well"
    server = Quiet(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def call(
    data: Path, tmp_path: Path, server: ThreadingHTTPServer
) -> Callable[..., tuple[int, str, str]]:
    """Return a function that measures: exit status, output, and what is said beside that."""
    done = (data / "events" / "done.jsonl").read_text(encoding="utf-8").splitlines()[-1]
    record = json.loads(done)["event_data"]["artifact_data"]["samewire_record"]
    url = f"http://127.0.0.1:{server.server_port}"
    record |= {"url": url, "endpoints": {"completions": f"{url}/v1/completions"}}
    folder = tmp_path / ".samewire" / "clusters" / "example"
    folder.mkdir(parents=True)
    (folder / "record.json").write_text(json.dumps(record), encoding="utf-8")
    (folder / "api_key").write_text(KEY, encoding="utf-8")

    def run(*arguments: str) -> tuple[int, str, str]:
        command = ["bench", "-i", str(data / "hosts.yml"), "--seconds", "1", *arguments]
        done = CliRunner().invoke(cli.app, command, catch_exceptions=False)
        return done.exit_code, done.stdout.replace(url, "URL"), done.stderr.replace(url, "URL")

    return run


def test_what_a_person_reads(call: Any) -> None:
    code, out, said = call("--concurrency", "2", "--tokens", "8")
    first, *rows = out.splitlines()
    assert (code, said) == (0, "")
    assert first == "example: tiny at URL, 2 requests at a time for 1 s"
    assert re.fullmatch(r"Requests             \d+ done, 0 failed, \d cut at the end", rows[0])
    assert re.fullmatch(r"Output               \d+\.\d tokens/s \(\d+ tokens\)", rows[1])
    assert re.fullmatch(r"Time to first token  median \d+\.\d ms, p95 \d+\.\d ms", rows[2])
    assert re.fullmatch(r"Inter-token latency  median \d+\.\d ms, p95 \d+\.\d ms", rows[3])
    assert len(rows) == 4


def test_what_a_program_reads(call: Any) -> None:
    code, out, _ = call("--json", "--tokens", "8")
    found = json.loads(out)
    assert (code, found["schema"], found["model"]) == (0, "samewire.bench/1", "tiny")
    assert found["load"] == {"seconds": 1.0, "concurrency": 4, "tokens": 8}
    assert found["requests"]["done"] > 4
    # The server says how many there were, as a piece may hold more than one.
    assert found["output_tokens"] >= found["requests"]["done"] * 8
    assert found["time_to_first_token_s"]["median"] >= 0.01
    assert found["inter_token_latency_s"]["p95"] >= 0.01
    assert found["failures"] == []
    prompts = [body["prompt"] for body in Server.asked]
    assert len(set(prompts)) == len(prompts)
    assert Server.asked[0]["max_tokens"] == 1


def test_without_the_key(call: Any) -> None:
    assert call("--api-key", "wrong") == (
        1,
        "",
        "example refused the question: expected status 200 from URL/v1/completions, got 401: no key\n",
    )


def test_nobody_answers(call: Any, server: ThreadingHTTPServer) -> None:
    server.server_close()
    server.shutdown()
    assert call() == (
        1,
        "",
        "example does not answer: expected a server at URL/v1/completions, got ConnectionError; deploy it "
        "again, or look at the logs of its containers.\n",
    )


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        (
            "refuses",
            "example refused the question: expected status 200 from URL/v1/completions, got 503: overloaded "
            "for long",
        ),
        ("gives up", "example gave up: EngineDeadError"),
    ],
)
def test_all_requests_fail(call: Any, how: str, reason: str) -> None:
    Server.how = how
    code, out, said = call("--concurrency", "1")
    assert code == 1
    assert out.splitlines()[2:5] == [
        "Output               0.0 tokens/s (0 tokens)",
        "Time to first token  -",
        "Inter-token latency  -",
    ]
    failed = re.fullmatch(r"Failed               (\d+) x (.*)", out.splitlines()[5])
    assert failed
    assert failed[2] == reason
    assert said == f"All {failed[1]} requests failed: {reason}\n"


def test_no_token_in_time(call: Any) -> None:
    Server.how = "stalls"
    code, out, said = call("--concurrency", "1")
    assert (code, out.splitlines()[1]) == (
        1,
        "Requests             0 done, 0 failed, 1 cut at the end",
    )
    assert said == (
        "example gave no token: expected one within 1 s, got none; raise --seconds, or look at samewire "
        "status.\n"
    )


def test_interrupted(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bench_command.bench, "run", interrupt)
    assert call() == (130, "", "")


def test_before_a_deployment(call: Any, tmp_path: Path) -> None:
    (tmp_path / ".samewire" / "clusters" / "example" / "record.json").unlink()
    code, _, said = call()
    assert (code, said.partition(":")[0]) == (3, "No record of the cluster example")


def test_help_names_the_full_benchmark_and_the_exit_status() -> None:
    text = " ".join(CliRunner().invoke(cli.app, ["bench", "--help"]).stdout.split())
    assert "vllm bench serve, in the image" in text
    assert "Example: samewire bench -i inventories/mine" in text
    assert text.endswith(
        "Exit status: 0 measured; 1 not one token came; 2 the command line is wrong; 3 refused before "
        "anything was asked; 130 interrupted."
    )


def test_spread() -> None:
    times = [float(number) for number in range(100, 0, -1)]
    assert bench.Spread.of(times) == bench.Spread(50.0, 95.0)
    assert bench.Spread.of([3.0]) == bench.Spread(3.0, 3.0)
    assert bench.Spread.of([]) == bench.Spread(None, None)


def test_summary() -> None:
    samples = [
        bench.Sample([0.5, 0.6, 0.8], tokens=6, done=True),
        bench.Sample([0.1], tokens=1),
        bench.Sample([0.1], tokens=1, failure="broke"),
        bench.Sample([], failure="broke"),
    ]
    result = bench.summary(samples, 2.0)
    assert (result.done, result.failed, result.cut, result.tokens) == (1, 2, 1, 7)
    assert result.tokens_per_second == 3.5
    assert result.failures == (("broke", 2),)
    assert result.first_token == bench.Spread(0.1, 0.5)
