# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A registry of one folder that serves its images, well or badly.

Run as a program: python -m tests.netns.registry ADDRESS PORT FOLDER
"""

from __future__ import annotations

import http.server
import json
import subprocess
import sys
from pathlib import Path

from tests.unit.images import MANIFEST, digest
from tests.unit.modules import ROOT


def serve(namespace: str, address: str, folder: Path) -> subprocess.Popen[str]:
    """Serve a folder on port 5000 of an address in a namespace; it listens when this returns."""
    serving = subprocess.Popen(
        [
            *("ip", "netns", "exec", namespace),
            *(sys.executable, "-m", "tests.netns.registry", address, "5000", str(folder)),
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert serving.stdout is not None
    assert serving.stdout.readline() == "listening\n"
    return serving


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves a folder. A file named "fault" there says how to fail: 500, 401, or cut."""

    protocol_version = "HTTP/1.1"
    # So one that tries TLS first sees that here is none.
    default_request_version = "HTTP/1.1"
    folder = Path()

    def do_GET(self) -> None:
        _, _, rest = self.path.partition("/v2/")
        parts = rest.split("/")
        fault = self.folder / "fault"
        how = fault.read_text() if fault.exists() else ""
        file = self.folder / parts[-1]
        if not rest:
            self._answer(401 if how == "401" else 200, b"{}")
        elif how in ("500", "401"):
            self._answer(int(how), b"{}")
        elif not file.is_file():
            code = {"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}
            self._answer(404, json.dumps(code).encode())
        elif parts[-2] == "manifests":
            self._answer(200, file.read_bytes(), MANIFEST)
        else:
            self._answer(200, file.read_bytes(), cut=how == "cut")

    def do_HEAD(self) -> None:
        self.do_GET()

    def _answer(
        self,
        status: int,
        body: bytes,
        kind: str = "application/octet-stream",
        *,
        cut: bool = False,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Docker-Content-Digest", digest(body))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if cut else body)
        self.close_connection = self.close_connection or cut

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


if __name__ == "__main__":
    Handler.folder = Path(sys.argv[3])
    with http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Handler) as server:
        print("listening", flush=True)
        server.serve_forever()
