# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What one look at a host gives, from a fake engine and a real server."""

from __future__ import annotations

import json
import pathlib
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _engine
from ansible_collections.samewire.vllm.plugins.modules import cluster_status
from tests.unit.modules import run_module

BEGUN = time.strftime("%Y-%m-%dT%H:%M:%S.123456789Z", time.gmtime(time.time() - 60))


class Engine:
    """Has one container, pair-ray, of an image that was pulled."""

    def __init__(self, *said: str, pulled: bool = True, begun: str = BEGUN, **state: Any) -> None:
        self._said = [f"{begun} {line}" for line in said]
        self._pulled = pulled
        self._state = {"Status": "running", "ExitCode": 0, "StartedAt": BEGUN, **state}

    def container(self, name: str) -> dict[str, Any] | None:
        if name != "pair-ray":
            return None
        return {
            "Id": "f00",
            "Image": "sha256:1d",
            "RestartCount": 3,
            "State": self._state,
            "Config": {
                "Image": "vllm:1",
                "Env": ["A=1", "B=x=y", "C="],
                "Labels": {"samewire.cluster": "pair"},
            },
        }

    def log_tail(self, name: str, lines: int, *, timestamps: bool) -> list[str]:
        assert (name, lines, timestamps) == ("pair-ray", 5, True)
        return self._said

    def get(self, path: str) -> dict[str, Any]:
        assert path == "/images/sha256:1d/json"
        if not self._pulled:
            raise _engine.EngineRefused(404, "No such image")
        return {"RepoDigests": ["registry:5000/vllm@sha256:d1"]}


def look(engine: Engine, cluster: str = "pair", **environment: Any) -> dict[str, Any]:
    found = cluster_status.container(engine, cluster, "pair-ray", environment)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_a_container() -> None:
    found = look(Engine(), A="1", B="x=y", C="")
    assert found.pop("age") > 59
    assert found == {
        "id": "f00",
        "own": True,
        "label": "pair",
        "executor": None,
        "status": "running",
        "health": None,
        "exit_code": 0,
        "restarts": 3,
        "gave_up": False,
        "pause": None,
        "started_at": f"{BEGUN[:19]}Z",
        "image": "vllm:1",
        "digests": ["sha256:1d", "sha256:d1"],
        "environment_differs": [],
    }


def test_only_names_of_variables_that_differ() -> None:
    assert look(Engine(), A=2, B="x", C="", D="secret")["environment_differs"] == ["A", "B", "D"]


def test_a_container_of_somebody_else_or_none() -> None:
    assert look(Engine(), cluster="other")["own"] is False
    assert cluster_status.container(Engine(), "pair", "pair-vllm", {}) is None  # type: ignore[arg-type]


def test_states() -> None:
    gave_up = "samewire: gave up after 10 starts in 2 min"
    assert look(Engine(gave_up))["gave_up"] is True
    assert look(Engine(gave_up, Status="exited"))["gave_up"] is False
    # That was before its present start.
    assert look(Engine(gave_up, begun="2026-01-01T00:00:00.5Z"))["gave_up"] is False
    assert look(Engine("samewire: start 3 of 10, in 10 s"))["pause"] == "start 3 of 10, in 10 s"
    assert look(Engine(Health={"Status": "unhealthy"}))["health"] == "unhealthy"
    assert look(Engine(pulled=False))["digests"] == ["sha256:1d"]


class Server(BaseHTTPRequestHandler):
    """Answers as vLLM with a key does."""

    def do_GET(self) -> None:
        known = self.headers["Authorization"] == "Bearer right"
        status, body = {
            "/health": (200, ""),
            "/metrics": (200, 'vllm:num_requests_running{engine="0"} 2.0\n')
            if known
            else (401, ""),
            "/v1/models": (200, json.dumps({"data": [{"id": "tiny"}]})) if known else (401, "{}"),
        }[self.path]
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    # A proxy of the host is none for what is on the host.
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_server_that_answers(url: str) -> None:
    log = ['2026-11-30T13:00:01.5Z INFO: 1 - "POST /v1/completions HTTP/1.1" 200 OK']
    found = cluster_status.server(url, "right", log, BEGUN)
    assert (found["healthy"], found["answer"], found["progress"]) == (True, "status 200", "ready")
    assert (found["models"], found["running"], found["requests"]) == (["tiny"], 2.0, None)
    assert found["last_request"] == {"at": "2026-11-30T13:00:01Z", "status": 200}
    unknown = cluster_status.server(url, None, [], BEGUN)
    assert (unknown["healthy"], unknown["models"], unknown["running"]) == (True, [], None)


def test_a_server_that_starts_again() -> None:
    log = [
        "2026-11-30T13:00:00.1Z Application startup complete.",
        "2026-11-30T13:05:00.1Z Connecting to existing Ray cluster at address",
    ]
    found = cluster_status.server("http://127.0.0.1:1", None, log, "2026-11-30T13:04:00Z")
    assert (found["healthy"], found["progress"]) == (False, "connecting to Ray")
    assert found["answer"] == "[Errno 111] Connection refused"
    assert found["models"] == []


def test_who_is_connected_to_a_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        assert cluster_status._members(port) == []
        with socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.2", 0)):
            assert cluster_status._members(port) == ["127.0.0.2"]


def test_what_a_change_that_did_not_end_has_kept() -> None:
    class Keeping(Engine):
        def containers(self, label: str) -> list[dict[str, Any]]:
            assert label == "samewire.cluster=pair"
            return [{"Names": ["/pair-vllm"]}, {"Names": ["/pair-vllm-before"]}]

    assert cluster_status._kept_containers(Keeping(), "pair") == ["pair-vllm-before"]  # type: ignore[arg-type]


def test_without_an_engine(tmp_path: pathlib.Path) -> None:
    (tmp_path / "pair").mkdir()
    found = run_module(
        "cluster_status",
        cluster="pair",
        directory=str(tmp_path),
        head={"ray_port": 1, "master_port": 2, "host": "0.0.0.0", "port": 1},
    )
    assert found["changed"] is False
    node = found["node"]
    assert node["docker"] == {"version": None, "reason": "/nowhere does not exist"}
    assert node["containers"] == {"ray": None, "vllm": None}
    assert (node["members"], node["server"]) == ([], None)
    assert node["directory"] == {"exists": True, "foreign": False}
    assert "127.0.0.1" in node["addresses"]["lo"]


def test_a_worker_says_nothing_of_ray_and_the_server(tmp_path: pathlib.Path) -> None:
    node = run_module("cluster_status", cluster="pair", directory=str(tmp_path))["node"]
    assert (node["members"], node["server"]) == (None, None)
    assert node["directory"]["exists"] is False
