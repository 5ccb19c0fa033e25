# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The connections of this machine, and what Ray and vLLM answer beside."""

from __future__ import annotations

import http.server
import json
import pathlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _engine, _observation, _sockets
from ansible_collections.samewire.vllm.plugins.modules import cluster_observation
from tests.unit.modules import run_module

KEY = "1"
ASKED = {"model": "tiny", "prompt": "The capital of France is", "max_tokens": 16}


class Server(http.server.BaseHTTPRequestHandler):
    """Completes for who has the key, and keeps what it was asked."""

    asked: list[dict[str, Any]]

    def do_POST(self) -> None:
        self.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        wanted = self.path == "/v1/completions" and self.headers["Authorization"] == f"Bearer {KEY}"
        self.send_response(200 if wanted else 401)
        self.end_headers()
        self.wfile.write(b'{"choices": [{"text": " Paris"}]}')

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def asked() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def url(asked: list[dict[str, Any]]) -> Iterator[str]:
    handler = type("Handler", (Server,), {"asked": asked})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_loopback_is_left_out_and_nobody_is_asked() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()),
    ):
        found = run_module("cluster_observation", host="spark0")
    assert (found["changed"], found["ray"], found["completion"]) == (False, None, None)
    assert all(not entry["remote"].startswith("127.") for entry in found["connections"])


def test_what_nobody_has_answered_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    sockets = [
        _sockets.TcpSocket("10.0.0.1", 5, "10.0.0.2", 6, _sockets.SYN_SENT, 1),
        _sockets.TcpSocket("10.0.0.1", 7, "10.0.0.2", 8, _sockets.ESTABLISHED, 2),
        _sockets.TcpSocket("10.0.0.1", 22, "10.0.0.9", 9, _sockets.ESTABLISHED, 3),
        _sockets.TcpSocket("127.0.0.1", 7, "127.0.0.1", 8, _sockets.SYN_SENT, 4),
    ]
    monkeypatch.setattr(_sockets, "parse", lambda _lines: sockets)
    ends = {"local": "10.0.0.1", "remote": "10.0.0.2"}
    waiting = cluster_observation.connections(_sockets.SYN_SENT, {22})
    assert waiting == [{**ends, "local_port": 5, "remote_port": 6}]
    joined = cluster_observation.connections(_sockets.ESTABLISHED, {22})
    assert joined == [{**ends, "local_port": 7, "remote_port": 8}]


def test_a_completion_whose_key_is_not_told(url: str, asked: list[dict[str, Any]]) -> None:
    found = run_module(
        "cluster_observation", host="spark0", completion={"url": f"{url}/", "key": KEY, **ASKED}
    )
    assert found["completion"] == " Paris"
    assert asked == [{**ASKED, "temperature": 0}]
    # ansible-core before 2.21 adds the arguments of each call.
    assert "key" not in (found.get("invocation") or {}).get("module_args", {}).get("completion", {})
    # That a key is short hides nothing else.
    assert "VALUE_SPECIFIED" not in json.dumps(found)


def test_a_sentence_for_each_that_does_not_answer(tmp_path: pathlib.Path, url: str) -> None:
    wrong = "sk-0a1b2c3d4e5f"
    found = run_module(
        "cluster_observation",
        docker=str(tmp_path / "docker.sock"),
        host="spark0",
        ray_container="pair-ray",
        completion={"url": url, "key": wrong, **ASKED},
    )
    assert found["failed"] is True
    assert found["msg"].splitlines() == [
        f"spark0: the nodes of Ray cannot be listed ({tmp_path}/docker.sock does not exist); look at the "
        "log of the Ray container on spark0",
        f"spark0: vLLM at {url} refuses the API key (status 401), expected the one that it was started "
        "with; see vllm_server_api_key, and look at the log of the vLLM container on spark0",
    ]
    assert wrong not in json.dumps(found)


def test_check_mode_asks_nobody() -> None:
    found = run_module(
        "cluster_observation",
        check=True,
        host="spark0",
        ray_container="pair-ray",
        completion={"url": "http://127.0.0.1:1", "key": KEY, **ASKED},
    )
    assert (found["ray"], found["completion"]) == (None, None)
    assert "connections" in found


def test_both_are_asked_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each waits for the other.
    together = threading.Barrier(2, timeout=10)
    listed = {"nodes": {"10.0.0.1": 1}, "ray": "2.55.0", "python": "3.12.3"}

    def execute(_engine: object, name: str, argv: list[str]) -> tuple[int, str, str]:
        assert (name, argv[-1]) == ("pair-ray", "list")
        together.wait()
        return 0, json.dumps(listed), ""

    def post(*_: object) -> tuple[int, str]:
        together.wait()
        return 200, '{"choices": [{"text": " Paris"}]}'

    monkeypatch.setattr(_engine.Engine, "execute", execute)
    monkeypatch.setattr(cluster_observation._local_api, "post", post)
    question = {"url": "u", "key": "", "timeout": 120, **ASKED}
    found = cluster_observation.answers("spark0", "pair-ray", question)
    assert found == {"ray": listed, "completion": " Paris"}


def test_a_container_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def execute(*_: object) -> tuple[int, str, str]:
        raise _engine.EngineRefused(404, "No such container: pair-ray")

    monkeypatch.setattr(_engine.Engine, "execute", execute)
    with pytest.raises(_observation.Unanswered) as problem:
        cluster_observation.answers("spark0", "pair-ray", None)
    assert str(problem.value) == (
        "spark0: the nodes of Ray cannot be listed (No such container: pair-ray); look at the log of the "
        "Ray container on spark0"
    )
