# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Questions to a Docker Engine over its unix socket, and the few orders that community.docker does not know.

community.docker manages what exists; these questions (what would a pull give, why is the engine
not answering) have no module there, and must be asked where `requests` may be missing. Nor can it rename.
Source: Docker Engine API v1.41.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import socket
import urllib.parse
from typing import Any

DEFAULT_SOCKET = "/var/run/docker.sock"


class EngineUnavailable(Exception):
    """No Docker Engine answers; the message is the reason, in the words of the system."""


class EngineRefused(Exception):
    """The engine answered with an error; `status` is its HTTP status, the message its own."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def socket_path(environ: dict[str, str] | None = None) -> str:
    """Return the path of the engine's socket: that of DOCKER_HOST where it names one."""
    host = (os.environ if environ is None else environ).get("DOCKER_HOST", "")
    return host[len("unix://") :] if host.startswith("unix://") else DEFAULT_SOCKET


def registry_credentials(image: str, config: dict[str, Any]) -> str | None:
    """Return the X-Registry-Auth header for an image from a docker config.json, or None.

    Only entries stored in the file itself are read; credential helpers are not started.
    """
    first = image.split("/", 1)[0]
    registry = first if "/" in image and ("." in first or ":" in first) else "docker.io"
    for name, entry in (config.get("auths") or {}).items():
        server = name.split("//", 1)[-1].split("/", 1)[0]
        if server not in (registry, f"index.{registry}") or not entry.get("auth"):
            continue
        user, _, password = base64.b64decode(entry["auth"]).decode().partition(":")
        header = {"username": user, "password": password, "serveraddress": name}
        return base64.urlsafe_b64encode(json.dumps(header).encode()).decode()
    return None


class Engine:
    """One Docker Engine. Every method raises EngineUnavailable or EngineRefused."""

    def __init__(self, path: str | None = None, timeout: float = 30.0) -> None:
        self._path = path or socket_path()
        self._timeout = timeout

    def get(self, path: str, headers: dict[str, str] | None = None) -> Any:
        """Return the JSON of one GET; path starts with a slash."""
        return json.loads(self._ask("GET", path, headers))

    def _ask(self, method: str, path: str, headers: dict[str, str] | None = None) -> bytes:
        connection = _UnixConnection(self._path, self._timeout)
        try:
            connection.request(method, path, headers=headers or {})
            response = connection.getresponse()
            body = response.read()
        except FileNotFoundError as error:
            raise EngineUnavailable(f"{self._path} does not exist") from error
        except PermissionError as error:
            raise EngineUnavailable(f"no permission to open {self._path}") from error
        except OSError as error:
            raise EngineUnavailable(f"{self._path}: {error}") from error
        finally:
            connection.close()
        if response.status >= 400:
            raise EngineRefused(response.status, _message(body))
        return body

    def version(self) -> str:
        """Return the engine's version, as 20.10.24."""
        return str(self.get("/version")["Version"])

    def containers(self, label: str) -> list[dict[str, Any]]:
        """Return all containers that carry a label, running or not."""
        filters = urllib.parse.quote(json.dumps({"label": [label]}))
        found = self.get(f"/containers/json?all=1&filters={filters}")
        return list(found)

    def container(self, name: str) -> dict[str, Any] | None:
        """Return what `docker inspect` says of one container, or None where there is none."""
        try:
            return dict(self.get(f"/containers/{urllib.parse.quote(name)}/json"))
        except EngineRefused as refused:
            if refused.status == 404:
                return None
            raise

    def start(self, name: str) -> None:
        """Start a container; one that runs goes on."""
        self._ask("POST", f"/containers/{urllib.parse.quote(name)}/start")

    def stop(self, name: str, seconds: int) -> None:
        """Stop a container, which is killed where it has not ended after some seconds."""
        self._ask("POST", f"/containers/{urllib.parse.quote(name)}/stop?t={seconds}")

    def rename(self, name: str, other: str) -> None:
        """Give a container another name."""
        query = urllib.parse.urlencode({"name": other})
        self._ask("POST", f"/containers/{urllib.parse.quote(name)}/rename?{query}")

    def remove(self, name: str) -> None:
        """Kill and remove a container, with its volumes that have no name."""
        self._ask("DELETE", f"/containers/{urllib.parse.quote(name)}?force=1&v=1")

    def log_tail(self, name: str, lines: int, *, timestamps: bool = False) -> list[str]:
        """Return the last lines that a container without a terminal printed, both streams."""
        query = f"stdout=1&stderr=1&tail={lines}" + ("&timestamps=1" if timestamps else "")
        body = self._ask("GET", f"/containers/{urllib.parse.quote(name)}/logs?{query}")
        return [line.rstrip() for line in _demultiplexed(body).splitlines() if line.strip()]

    def local_image(self, reference: str) -> str | None:
        """Return the id of an image that the engine has, or None."""
        try:
            return str(self.get(f"/images/{urllib.parse.quote(reference)}/json")["Id"])
        except EngineRefused as refused:
            if refused.status == 404:
                return None
            raise

    def registry_digest(self, reference: str) -> str:
        """Return the digest that the registry has for a reference; nothing is pulled."""
        headers = {}
        credentials = registry_credentials(reference, _docker_config())
        if credentials:
            headers["X-Registry-Auth"] = credentials
        found = self.get(f"/distribution/{urllib.parse.quote(reference)}/json", headers)
        return str(found["Descriptor"]["digest"])


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["message"]).strip()
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace").strip()


def _demultiplexed(body: bytes) -> str:
    """Return the text of the engine's log frames: stream, three zero bytes, length, payload."""
    parts = []
    place = 0
    while place + 8 <= len(body):
        length = int.from_bytes(body[place + 4 : place + 8], "big")
        parts.append(body[place + 8 : place + 8 + length])
        place += 8 + length
    return b"".join(parts).decode(errors="replace")


def _docker_config() -> dict[str, Any]:
    folder = os.environ.get("DOCKER_CONFIG") or os.path.expanduser("~/.docker")
    try:
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            return dict(json.load(file))
    except (OSError, ValueError):
        return {}
