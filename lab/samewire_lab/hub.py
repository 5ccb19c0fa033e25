# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A small hub of models: speaks the hub's protocol as far as huggingface_hub needs it to download.

Source of the protocol: huggingface_hub 2.4 (hf_api.model_info, file_download, utils/_http), and the hub's
public OpenAPI document. A repository has one commit, which the branch main names.
"""

import argparse
import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

_CHUNK = 64 << 10
# What the hub itself keeps in large file storage.
_LARGE = (".safetensors", ".bin", ".gguf")


@dataclass(frozen=True)
class File:
    """One file of a repository, as it was when the hub started."""

    path: Path
    size: int
    sha256: str
    git: str

    @property
    def large(self) -> bool:
        return self.path.name.endswith(_LARGE)

    @property
    def etag(self) -> str:
        return self.sha256 if self.large else self.git

    def sibling(self, name: str) -> dict[str, Any]:
        """Return the file as model_info has it."""
        told: dict[str, Any] = {"rfilename": name, "size": self.size, "blobId": self.git}
        if self.large:
            told["lfs"] = {"sha256": self.sha256, "size": self.size, "pointerSize": 134}
        return told


def _file(path: Path) -> File:
    content = path.read_bytes()
    git = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
    return File(path, len(content), hashlib.sha256(content).hexdigest(), git.hexdigest())


@dataclass(frozen=True)
class Repository:
    """One model; token: with which alone its files are served, empty serves them to all."""

    folder: Path
    token: str = ""

    @cached_property
    def files(self) -> Mapping[str, File]:
        return {
            path.relative_to(self.folder).as_posix(): _file(path)
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        }

    @cached_property
    def commit(self) -> str:
        content = "".join(f"{name} {file.sha256}\n" for name, file in self.files.items())
        return hashlib.sha1(content.encode(), usedforsecurity=False).hexdigest()


@dataclass
class Hub:
    """What the server serves and has seen.

    repositories: by id, as org/model; rate: bytes a second and connection, None is no limit; failing: how
    many of the next requests are answered with 500; cut: bytes of a file after which a connection is closed;
    sent: bytes of files so far; ranges: the starts of the ranges that were asked for.
    """

    repositories: Mapping[str, Repository]
    rate: int | None = None
    failing: int = 0
    cut: int | None = None
    sent: int = 0
    ranges: list[int] = field(default_factory=list)

    def server(self, address: str = "127.0.0.1", port: int = 0) -> ThreadingHTTPServer:
        """Return a server that is bound, and serves once its serve_forever runs."""
        hub = self
        for repository in hub.repositories.values():
            # The content at the start is what the hub says of its files ever after.
            repository.commit  # noqa: B018

        class Handler(_Handler):
            served = hub

        server = ThreadingHTTPServer((address, port), Handler)
        server.daemon_threads = True
        return server


class _Handler(BaseHTTPRequestHandler):
    served: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        """Say nothing of each request."""

    def _answer(self) -> None:
        parts = unquote(urlsplit(self.path).path).strip("/").split("/")
        if self.served.failing:
            self.served.failing -= 1
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, "", "out of order")
        elif parts[:2] == ["api", "models"] and len(parts) in (4, 6):
            self._model("/".join(parts[2:4]), parts[5] if len(parts) == 6 else "main")
        elif len(parts) > 4 and parts[2] == "resolve":
            self._resolve("/".join(parts[:2]), parts[3], "/".join(parts[4:]))
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "", "no such page")

    def _repository(self, name: str, revision: str) -> Repository | None:
        repository = self.served.repositories.get(name)
        if repository is None:
            # The hub does not tell a private model from none.
            self._refuse(HTTPStatus.UNAUTHORIZED, "RepoNotFound", "Repository not found")
        elif revision not in ("main", repository.commit):
            self._refuse(HTTPStatus.NOT_FOUND, "RevisionNotFound", f"Invalid rev id: {revision}")
        else:
            return repository
        return None

    def _model(self, name: str, revision: str) -> None:
        repository = self._repository(name, revision)
        if repository:
            self._json(
                {
                    "id": name,
                    "modelId": name,
                    "sha": repository.commit,
                    "private": False,
                    "gated": "manual" if repository.token else False,
                    "tags": [],
                    "siblings": [file.sibling(path) for path, file in repository.files.items()],
                }
            )

    def _resolve(self, name: str, revision: str, path: str) -> None:
        repository = self._repository(name, revision)
        if repository is None:
            return
        if repository.token and self.headers["Authorization"] != f"Bearer {repository.token}":
            self._refuse(
                HTTPStatus.UNAUTHORIZED, "GatedRepo", f"Access to model {name} is restricted"
            )
        elif path not in repository.files:
            self._refuse(HTTPStatus.NOT_FOUND, "EntryNotFound", "Entry not found")
        else:
            self._send(repository, repository.files[path])

    def _send(self, repository: Repository, file: File) -> None:
        start = 0
        if wanted := self.headers["Range"]:
            start = int(wanted.removeprefix("bytes=").partition("-")[0])
            self.served.ranges.append(start)
        self.send_response(HTTPStatus.PARTIAL_CONTENT if wanted else HTTPStatus.OK)
        self.send_header("ETag", f'"{file.etag}"')
        self.send_header("X-Repo-Commit", repository.commit)
        self.send_header("Accept-Ranges", "bytes")
        if file.large:
            self.send_header("X-Linked-Size", str(file.size))
            self.send_header("X-Linked-ETag", f'"{file.sha256}"')
        if wanted:
            self.send_header("Content-Range", f"bytes {start}-{file.size - 1}/{file.size}")
        self.send_header("Content-Length", str(file.size - start))
        self.end_headers()
        if self.command == "GET":
            self._stream(file.path, start)

    def _stream(self, path: Path, start: int) -> None:
        with path.open("rb") as content:
            content.seek(start)
            while chunk := content.read(_CHUNK):
                if self.served.cut is not None and content.tell() - start > self.served.cut:
                    self.close_connection = True
                    return
                try:
                    self.wfile.write(chunk)
                except OSError:
                    # The client is gone; that is its right.
                    self.close_connection = True
                    return
                self.served.sent += len(chunk)
                if self.served.rate:
                    time.sleep(len(chunk) / self.served.rate)

    def _json(self, told: Mapping[str, Any]) -> None:
        body = json.dumps(told).encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def _refuse(self, status: HTTPStatus, code: str, message: str) -> None:
        self.send_response(status)
        if code:
            self.send_header("X-Error-Code", code)
        self.send_header("X-Error-Message", message)
        self.send_header("Content-Length", "0")
        self.end_headers()


def main() -> None:
    """Serve the folders below one folder, org/model each."""
    parser = argparse.ArgumentParser(prog="python -m samewire_lab.hub", description=main.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8090)
    parser.add_argument("--token", default="", help="serve the files only with this token")
    parser.add_argument("--rate", type=int, help="bytes a second and connection")
    given = parser.parse_args()
    repositories = {
        f"{folder.parent.name}/{folder.name}": Repository(folder, given.token)
        for folder in sorted(given.folder.glob("*/*"))
        if folder.is_dir()
    }
    Hub(repositories, rate=given.rate).server(given.address, given.port).serve_forever()


if __name__ == "__main__":
    main()
