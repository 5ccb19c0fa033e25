# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Questions to a Docker Engine, answered by a server that speaks the API's words on a unix socket."""

from __future__ import annotations

import base64
import http.server
import json
import pathlib
import socketserver
import threading
import time
import urllib.parse
from collections.abc import Iterator

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _engine
from tests.unit.engines import fake_engine


def frame(stream: int, text: str) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(text).to_bytes(4, "big") + text.encode()


ANSWERS: dict[str, tuple[int, bytes]] = {
    "/version": (200, b'{"Version": "20.10.24+dfsg1"}'),
    "/images/there%3A1/json": (200, b'{"Id": "sha256:aa"}'),
    "/images/absent/json": (404, b'{"message": "No such image: absent"}'),
    "/distribution/there%3A1/json": (200, b'{"Descriptor": {"digest": "sha256:bb"}}'),
    "/distribution/absent/json": (404, b'{"message": "manifest unknown"}'),
    "/containers/own/json": (200, b'{"State": {"Status": "running"}, "RestartCount": 0}'),
    "/containers/none/json": (404, b'{"message": "No such container: none"}'),
    "/containers/own/logs?stdout=1&stderr=1&tail=5": (200, frame(1, "one\n") + frame(2, "two\n\n")),
}


ORDERS: list[str] = []
# Who is told to run something in a container; the engine closes the connection when it has ended.
EXECUTIONS: dict[str, tuple[int, bytes]] = {
    "/containers/pair-ray/exec": (201, b'{"Id": "e1"}'),
    "/containers/none/exec": (404, b'{"message": "No such container: none"}'),
    "/exec/e1/start": (200, frame(1, "on") + frame(2, "war") + frame(1, "e\n") + frame(2, "ning")),
}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        ORDERS.append(f"{self.command} {self.path}")
        if self.path in EXECUTIONS:
            ORDERS[-1] += f" {self.rfile.read(int(self.headers['Content-Length'])).decode()}"
            status, body = EXECUTIONS[self.path]
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)
            return
        self.send_response(204)
        self.end_headers()

    def do_DELETE(self) -> None:
        self.do_POST()

    def do_GET(self) -> None:
        status, body = ANSWERS.get(self.path, (500, b"unexpected"))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""

    def address_string(self) -> str:
        return "unix"


@pytest.fixture
def engine(tmp_path: pathlib.Path) -> Iterator[_engine.Engine]:
    path = tmp_path / "docker.sock"
    with socketserver.ThreadingUnixStreamServer(str(path), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield _engine.Engine(str(path))
        server.shutdown()
        thread.join()


def test_answers(engine: _engine.Engine) -> None:
    assert engine.version() == "20.10.24+dfsg1"
    assert (engine.image("there:1") or {})["Id"] == "sha256:aa"
    assert engine.image("absent") is None
    assert engine.registry_digest("there:1") == "sha256:bb"
    assert engine.container("none") is None
    assert (engine.container("own") or {})["State"] == {"Status": "running"}
    assert engine.log_tail("own", 5) == ["one", "two"]


def test_who_ran_out_of_memory(engine: _engine.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    # As Docker 20.10.24 answers.
    event = {
        "Type": "container",
        "Action": "oom",
        "Actor": {"ID": "1f", "Attributes": {"name": "lab-ray", "samewire.cluster": "lab"}},
        "timeNano": 1796074000500000000,
    }
    monkeypatch.setattr(time, "time", lambda: 2000.0)
    asked = urllib.parse.quote('{"event": ["oom"], "label": ["samewire.cluster=lab"]}')
    line = json.dumps(event).encode() + b"\n"
    monkeypatch.setitem(
        ANSWERS, f"/events?since=1400&until=2001&filters={asked}", (200, line + line)
    )
    found = engine.out_of_memory("samewire.cluster=lab", 600)
    assert found == [(1796074000.5, "lab-ray")] * 2


def test_orders(engine: _engine.Engine) -> None:
    ORDERS.clear()
    engine.stop("pair-ray", 10)
    engine.rename("pair-ray", "pair-ray-before")
    engine.start("pair-ray")
    engine.remove("pair-ray-before")
    assert ORDERS == [
        "POST /containers/pair-ray/stop?t=10",
        "POST /containers/pair-ray/rename?name=pair-ray-before",
        "POST /containers/pair-ray/start",
        "DELETE /containers/pair-ray-before?force=1&v=1",
    ]


def test_a_program_in_a_container(engine: _engine.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    ORDERS.clear()
    monkeypatch.setitem(ANSWERS, "/exec/e1/json", (200, b'{"ExitCode": 3, "Running": false}'))
    assert engine.execute("pair-ray", ["/bin/sh", "-c", "x"]) == (3, "one\n", "warning")
    assert ORDERS == [
        "POST /containers/pair-ray/exec "
        '{"AttachStdout": true, "AttachStderr": true, "Cmd": ["/bin/sh", "-c", "x"]}',
        'POST /exec/e1/start {"Detach": false, "Tty": false}',
    ]
    with pytest.raises(_engine.EngineRefused, match="No such container: none"):
        engine.execute("none", ["x"])


def test_a_refusal_carries_the_words_of_the_engine(engine: _engine.Engine) -> None:
    with pytest.raises(_engine.EngineRefused) as refused:
        engine.registry_digest("absent")
    assert (refused.value.status, str(refused.value)) == (404, "manifest unknown")


def test_no_engine(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "nothing.sock"
    with pytest.raises(_engine.EngineUnavailable) as unavailable:
        _engine.Engine(str(path)).version()
    assert str(unavailable.value) == f"{path} does not exist"


def test_an_engine_that_died_left_its_socket(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "docker.sock"
    socketserver.UnixStreamServer(str(path), Handler).server_close()
    with pytest.raises(_engine.EngineUnavailable) as unavailable:
        _engine.Engine(str(path)).version()
    assert str(unavailable.value) == f"{path}: [Errno 111] Connection refused"


@pytest.mark.parametrize(
    ("environ", "path"),
    [
        ({}, "/var/run/docker.sock"),
        ({"DOCKER_HOST": "unix:///run/user/1000/docker.sock"}, "/run/user/1000/docker.sock"),
    ],
)
def test_socket_path(environ: dict[str, str], path: str) -> None:
    assert _engine.socket_path(environ) == path


@pytest.mark.parametrize(
    ("image", "server", "found"),
    [
        ("registry.example:5000/vllm:1", "registry.example:5000", True),
        ("registry.example:5000/vllm:1", "other.example", False),
        ("vllm/vllm-openai:latest", "https://index.docker.io/v1/", True),
    ],
)
def test_credentials(image: str, server: str, found: bool) -> None:
    config = {"auths": {server: {"auth": base64.b64encode(b"me:s:cret").decode()}}}
    header = _engine.registry_credentials(image, config)
    assert (header is not None) == found
    if header:
        assert json.loads(base64.urlsafe_b64decode(header)) == {
            "username": "me",
            "password": "s:cret",
            "serveraddress": server,
        }


@pytest.mark.parametrize(
    ("said", "header"),
    [
        (
            '{"Username": "me", "Secret": "s"}',
            {"username": "me", "password": "s", "serveraddress": "registry.example"},
        ),
        (
            '{"Username": "<token>", "Secret": "s"}',
            {"identitytoken": "s", "serveraddress": "registry.example"},
        ),
        ("credentials not found in native keychain", None),
    ],
)
def test_credentials_that_a_helper_keeps(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    said: str,
    header: dict[str, str] | None,
) -> None:
    helper = tmp_path / "docker-credential-own"
    helper.write_text(
        "#!/bin/sh\nread -r server || [ \"$1 $server\" = 'get registry.example' ] || exit 1\n"
        f"echo '{said}'\n"
    )
    helper.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    for config in ({"credsStore": "own"}, {"credHelpers": {"registry.example": "own"}}):
        found = _engine.registry_credentials("registry.example/vllm:1", config)
        assert (found and json.loads(base64.urlsafe_b64decode(found))) == header


def test_a_helper_that_is_not_there() -> None:
    assert _engine.registry_credentials("vllm:1", {"credsStore": "samewire-none"}) is None


@pytest.mark.parametrize(
    ("reference", "name", "tag"),
    [
        ("vllm", "vllm", "latest"),
        ("registry.example:5000/vllm", "registry.example:5000/vllm", "latest"),
        ("registry.example:5000/vllm:1", "registry.example:5000/vllm", "1"),
        ("vllm/vllm@sha256:aa", "vllm/vllm", "sha256:aa"),
        ("vllm/vllm:1@sha256:aa", "vllm/vllm", "sha256:aa"),
    ],
)
def test_split_reference(reference: str, name: str, tag: str) -> None:
    assert _engine.split_reference(reference) == (name, tag)


def test_images_that_come_and_go(tmp_path: pathlib.Path) -> None:
    with fake_engine(tmp_path / "docker.sock") as fake:
        engine = _engine.Engine(fake.socket)
        fake.images, fake.files = {"vllm:1": {"Id": "sha256:aa"}}, {"vllm:1": b"saved"}
        assert engine.images() == ["vllm:1"]
        with engine.saved("vllm:1") as saved:
            assert saved.read() == b"saved"
        fake.events = [{"status": "Loading layer"}, {"stream": "Loaded image: vllm:1"}]
        assert list(engine.load(iter([b"one", b"two"]))) == fake.events
        assert fake.loaded == b"onetwo"
        fake.events.append({"error": "no space left on device"})
        with pytest.raises(_engine.EngineRefused, match="no space left on device"):
            list(engine.pull("vllm:1"))
        with pytest.raises(_engine.EngineRefused), engine.saved("none:1"):
            pass


def test_storage(tmp_path: pathlib.Path) -> None:
    with fake_engine(tmp_path / "docker.sock") as fake:
        engine = _engine.Engine(fake.socket)
        found = engine.storage()
        assert (found.root, found.containerd, found.processor) == ("/", False, "x86_64")
        assert found.free is not None
        assert found.free > 0
        fake.storage, fake.root = "io.containerd.snapshotter.v1", str(tmp_path / "unseen")
        found = engine.storage()
        assert (found.free, found.containerd) == (None, True)
