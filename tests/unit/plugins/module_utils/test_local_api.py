# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A server on this host, asked with TLS and without."""

from __future__ import annotations

import pathlib
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _local_api
from tests.unit.certificates import issued

SLOW = threading.Event()


class Server(BaseHTTPRequestHandler):
    """Answers with what it was asked."""

    def do_GET(self) -> None:
        self.send_response(401 if self.path == "/closed" else 200)
        self.end_headers()
        self.wfile.write(f"{self.path} {self.headers['Authorization']}".encode())

    def do_POST(self) -> None:
        given = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path == "/dies":
            self.send_response(200)
            self.send_header("Content-Length", "10")
            self.end_headers()
            self.wfile.write(b"half")
            return
        if self.path == "/slow":
            SLOW.wait(10)
            return
        self.send_response(400 if self.path == "/refused" else 200)
        self.end_headers()
        self.wfile.write(
            f"{given} {self.headers['Content-Type']} {self.headers['Authorization']}".encode()
        )

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


@pytest.fixture(params=["http", "https"])
def url(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    if request.param == "https":
        # For another name, and issued by nobody who is known.
        for name, text in zip(("crt", "key"), issued("api.example.org"), strict=True):
            (tmp_path / name).write_text(text)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tmp_path / "crt", tmp_path / "key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"{request.param}://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_get(url: str) -> None:
    assert _local_api.get(f"{url}/open") == (200, "/open None")
    assert _local_api.get(f"{url}/open", "k") == (200, "/open Bearer k")
    assert _local_api.get(f"{url}/closed") == (401, "/closed None")


def test_post(url: str) -> None:
    said = '{"a": 1} application/json'
    assert _local_api.post(f"{url}/open", {"a": 1}) == (200, f"{said} None")
    assert _local_api.post(f"{url}/refused", {"a": 1}, "k") == (400, f"{said} Bearer k")
    status, reason = _local_api.post(f"{url}/dies", {})
    assert (status, reason.startswith("IncompleteRead")) == (0, True)
    SLOW.clear()
    status, reason = _local_api.post(f"{url}/slow", {}, timeout=0.2)
    SLOW.set()
    assert (status, "timed out" in reason) == (0, True)


def test_get_from_nobody() -> None:
    assert _local_api.get("http://127.0.0.1:1/") == (0, "[Errno 111] Connection refused")
