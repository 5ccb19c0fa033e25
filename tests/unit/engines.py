# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A server on a unix socket that answers as a Docker Engine does about its images."""

from __future__ import annotations

import http.server
import json
import socketserver
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class FakeEngine:
    """What the engine knows; `loaded` is what it was given, and `becomes` what it then has."""

    socket: str
    images: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    becomes: dict[str, dict[str, Any]] = field(default_factory=dict)
    loaded: bytes = b""
    storage: str = "overlay2"
    root: str = "/"

    def answer(self, method: str, path: str) -> tuple[int, bytes]:
        """Return status and body; path: unquoted, without its question."""
        kind, _, name = path.lstrip("/").partition("/")
        name, _, verb = name.rpartition("/")
        if path == "/info":
            kinds = [["driver-type", self.storage]] if "containerd" in self.storage else []
            told = {"DockerRootDir": self.root, "DriverStatus": kinds, "Architecture": "x86_64"}
            return 200, json.dumps(told).encode()
        if path == "/images/json":
            return 200, json.dumps([{"Id": name} for name in self.images]).encode()
        if method == "POST" or (kind == "images" and verb == "get" and name in self.files):
            if method == "POST":
                self.images |= self.becomes
                return 200, b"".join(json.dumps(event).encode() + b"\r\n" for event in self.events)
            return 200, self.files[name]
        if kind == "images" and verb == "json" and name in self.images:
            return 200, json.dumps(self.images[name]).encode()
        if kind == "images" and verb == "history":
            return 200, b"[]"
        if kind == "distribution" and name in self.digests:
            return 200, json.dumps({"Descriptor": {"digest": self.digests[name]}}).encode()
        return 404, b'{"message": "no such thing"}'


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    knows: FakeEngine

    def do_GET(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked" and not self._take():
            self.close_connection = True
            return
        path = urllib.parse.unquote(self.path.partition("?")[0])
        status, body = self.knows.answer(self.command, path)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_GET()

    def _take(self) -> bool:
        """Take what is to be loaded; false where the other side hung up before its end."""
        self.knows.loaded = b""
        while head := self.rfile.readline():
            self.knows.loaded += self.rfile.read(int(head, 16))
            self.rfile.readline()
            if not int(head, 16):
                return True
        return False

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""

    def address_string(self) -> str:
        return "unix"


@contextmanager
def fake_engine(path: Path) -> Iterator[FakeEngine]:
    """Yield an engine that answers at a path."""
    knows = FakeEngine(str(path))
    handler = type("Handler", (_Handler,), {"knows": knows})
    with socketserver.ThreadingUnixStreamServer(str(path), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield knows
        server.shutdown()
        thread.join()
