# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Questions to a Docker Engine over its unix socket, images that come and go, and a few orders.

community.docker manages what exists; these questions (what would a pull give, why is the engine
not answering) have no module there, and must be asked where `requests` may be missing. Nor does it
show how far a pull is, pass an image on without a copy on disk, or rename a container.
Source: Docker Engine API v1.41.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import socket
import subprocess
import time
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# A host without a way out learns of it at once or never; a registry needs seconds at most.
REGISTRY_SECONDS = 10.0

DEFAULT_SOCKET = "/var/run/docker.sock"

# The streams of a program, as the engine numbers them.
_OUT, _ERR = 1, 2


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
    """Return the X-Registry-Auth header for an image from a docker config.json, or None."""
    first = image.split("/", 1)[0]
    registry = first if "/" in image and ("." in first or ":" in first) else "docker.io"
    for name, entry in (config.get("auths") or {}).items():
        server = name.split("//", 1)[-1].split("/", 1)[0]
        if server not in (registry, f"index.{registry}") or not entry.get("auth"):
            continue
        user, _unused, password = base64.b64decode(entry["auth"]).decode().partition(":")
        return _header({"username": user, "password": password, "serveraddress": name})
    server = "https://index.docker.io/v1/" if registry == "docker.io" else registry
    helper = (config.get("credHelpers") or {}).get(server) or config.get("credsStore")
    return _helped(f"docker-credential-{helper}", server) if helper else None


def _helped(program: str, server: str) -> str | None:
    """Ask a program that keeps the credentials of docker login."""
    try:
        done = subprocess.run(
            [program, "get"], input=server, capture_output=True, text=True, check=True, timeout=30
        )
        found = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    # So Docker marks a secret that is no password.
    if found["Username"] == "<token>":
        return _header({"identitytoken": found["Secret"], "serveraddress": server})
    return _header(
        {"username": found["Username"], "password": found["Secret"], "serveraddress": server}
    )


def _header(credentials: dict[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(credentials).encode()).decode()


@dataclass(frozen=True)
class Storage:
    """Where an engine keeps its images.

    free: bytes on that disk, None where they are not to be seen; containerd: whether containerd keeps them
    (Docker's default from 29 on), else a graph driver; processor: in the kernel's words.
    """

    root: str
    free: int | None
    containerd: bool
    processor: str


class Engine:
    """One Docker Engine. Every method raises EngineUnavailable or EngineRefused."""

    def __init__(self, path: str | None = None, timeout: float = 30.0) -> None:
        self._path = path or socket_path()
        self._timeout = timeout

    def get(self, path: str, headers: dict[str, str] | None = None) -> Any:
        """Return the JSON of one GET; path starts with a slash."""
        return json.loads(self._ask("GET", path, headers))

    def _ask(self, method: str, path: str, headers: dict[str, str] | None = None) -> bytes:
        with self._exchange(method, path, headers) as response:
            return bytes(response.read())

    def _tell(self, path: str, document: dict[str, Any]) -> bytes:
        headers = {"Content-Type": "application/json"}
        with self._exchange("POST", path, headers, json.dumps(document).encode()) as response:
            return bytes(response.read())

    @contextlib.contextmanager
    def _exchange(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | Iterable[bytes] | None = None,
    ) -> Iterator[http.client.HTTPResponse]:
        """Yield the answer to a request; a refusal is raised, also one that comes before all is said."""
        connection = _UnixConnection(self._path, self._timeout)
        try:
            # An engine that takes no more of the body says why.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, path, body, dict(headers or {}), encode_chunked=True)
            response = connection.getresponse()
            if response.status >= 400:
                raise EngineRefused(response.status, _message(response.read()))
            yield response
        except FileNotFoundError as error:
            raise EngineUnavailable(f"{self._path} does not exist") from error
        except PermissionError as error:
            raise EngineUnavailable(f"no permission to open {self._path}") from error
        except (OSError, http.client.HTTPException) as error:
            raise EngineUnavailable(f"{self._path}: {error}") from error
        finally:
            connection.close()

    def _events(
        self,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: Iterable[bytes] | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Yield what the engine says while it works; what goes wrong on the way is raised."""
        with self._exchange("POST", path, headers, body) as response:
            for line in response:
                if not line.strip():
                    continue
                event = json.loads(line)
                if "error" in event:
                    raise EngineRefused(response.status, str(event["error"]).strip())
                yield event

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

    def out_of_memory(self, label: str, seconds: int) -> list[tuple[float, str]]:
        """Return when which containers ran out of memory lately, the Unix time and the name of each.

        The engine remembers its last 256 events; a limit of a group above counts for all in it.
        """
        now = int(time.time())
        filters = urllib.parse.quote(json.dumps({"event": ["oom"], "label": [label]}))
        query = f"since={now - seconds}&until={now + 1}&filters={filters}"
        found = [json.loads(line) for line in self._ask("GET", f"/events?{query}").splitlines()]
        return [
            (each["timeNano"] / 1e9, str(each["Actor"]["Attributes"]["name"])) for each in found
        ]

    def log_tail(self, name: str, lines: int, *, timestamps: bool = False) -> list[str]:
        """Return the last lines that a container without a terminal printed, both streams."""
        query = f"stdout=1&stderr=1&tail={lines}" + ("&timestamps=1" if timestamps else "")
        body = self._ask("GET", f"/containers/{urllib.parse.quote(name)}/logs?{query}")
        text = b"".join(payload for _stream, payload in _frames(body)).decode(errors="replace")
        return [line.rstrip() for line in text.splitlines() if line.strip()]

    def execute(self, name: str, argv: list[str]) -> tuple[int, str, str]:
        """Run a program in a container; return its exit code, standard output and standard error."""
        asked = {"AttachStdout": True, "AttachStderr": True, "Cmd": argv}
        made = json.loads(self._tell(f"/containers/{urllib.parse.quote(name)}/exec", asked))
        run = f"/exec/{made['Id']}"
        texts = {_OUT: b"", _ERR: b""}
        for stream, payload in _frames(self._tell(f"{run}/start", {"Detach": False, "Tty": False})):
            texts[stream] += payload
        code = int(self.get(f"{run}/json")["ExitCode"])
        return code, texts[_OUT].decode(errors="replace"), texts[_ERR].decode(errors="replace")

    def image(self, reference: str) -> dict[str, Any] | None:
        """Return what `docker image inspect` says of an image, or None where there is none."""
        try:
            return dict(self.get(f"/images/{urllib.parse.quote(reference)}/json"))
        except EngineRefused as refused:
            if refused.status == 404:
                return None
            raise

    def images(self) -> list[str]:
        """Return the ids of all images."""
        return [str(each["Id"]) for each in self.get("/images/json")]

    def history(self, reference: str) -> list[dict[str, Any]]:
        """Return the steps that made an image, the last one first."""
        return list(self.get(f"/images/{urllib.parse.quote(reference)}/history"))

    def storage(self) -> Storage:
        """Return where and how the engine keeps its images."""
        info = self.get("/info")
        root = str(info["DockerRootDir"])
        try:
            found = os.statvfs(root)
            free = found.f_frsize * found.f_bavail
        except OSError:
            free = None
        kinds = [each[1] for each in info.get("DriverStatus") or [] if each[0] == "driver-type"]
        return Storage(root, free, bool(kinds), str(info["Architecture"]))

    def registry_digest(self, reference: str) -> str:
        """Return the digest that the registry has for a reference; nothing is pulled."""
        path = f"/distribution/{urllib.parse.quote(reference)}/json"
        found = self.get(path, _registry_headers(reference))
        return str(found["Descriptor"]["digest"])

    def pull(self, reference: str) -> Iterator[dict[str, Any]]:
        """Pull an image, yielding what the engine says of each layer."""
        name, tag = split_reference(reference)
        query = urllib.parse.urlencode({"fromImage": name, "tag": tag})
        return self._events(f"/images/create?{query}", _registry_headers(reference))

    @contextlib.contextmanager
    def saved(self, reference: str) -> Iterator[http.client.HTTPResponse]:
        """Yield an image as the tar file of `docker save`."""
        with self._exchange("GET", f"/images/{urllib.parse.quote(reference)}/get") as response:
            yield response

    def load(self, pieces: Iterable[bytes]) -> Iterator[dict[str, Any]]:
        """Load an image from the pieces of a tar file, yielding what the engine says of each layer."""
        headers = {"Content-Type": "application/x-tar", "Transfer-Encoding": "chunked"}
        return self._events("/images/load?quiet=0", headers, pieces)


def split_reference(reference: str) -> tuple[str, str]:
    """Return the name of an image and its tag or digest."""
    name, _unused, digest = reference.partition("@")
    first, colon, tag = name.rpartition(":")
    if colon and "/" not in tag:
        name = first
    else:
        tag = "latest"
    return name, digest or tag


def _registry_headers(reference: str) -> dict[str, str]:
    credentials = registry_credentials(reference, _docker_config())
    return {"X-Registry-Auth": credentials} if credentials else {}


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["message"]).strip()
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace").strip()


def _frames(body: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the engine's frames of what a program printed: stream, three zero bytes, length, payload."""
    place = 0
    while place + 8 <= len(body):
        length = int.from_bytes(body[place + 4 : place + 8], "big")
        yield body[place], body[place + 8 : place + 8 + length]
        place += 8 + length


def _docker_config() -> dict[str, Any]:
    folder = os.environ.get("DOCKER_CONFIG") or os.path.expanduser("~/.docker")
    try:
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            return dict(json.load(file))
    except (OSError, ValueError):
        return {}
