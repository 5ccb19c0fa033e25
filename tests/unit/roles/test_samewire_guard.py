# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Who gets past the guard of the API: requests as an ASGI server gives them, to one who answers all."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import pathlib
import types
from typing import Any

import pytest

SCRIPT = pathlib.Path(__file__).parents[3] / "roles/ray_node/files/node/server/samewire_guard.py"
KEY = "key-7f3a9c51e2"
STRANGER, SERVER = ("10.1.2.3", 40000), ("10.1.0.180", 8000)
PREFLIGHT = {"origin": "https://a", "access-control-request-method": "POST"}
# Three parts, so that what holds an answer back would show.
ANSWER = [
    {"type": "http.response.start", "status": 200, "headers": []},
    {"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True},
    {"type": "http.response.body", "body": b"data: 2\n\n", "more_body": False},
]


@pytest.fixture
def script() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("samewire_guard", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def application(scope: Any, receive: Any, send: Any) -> None:
    for part in ANSWER:
        await send(part)


class Asking:
    """A guarded application, asked without a network; whoever reads the body of a request fails."""

    def __init__(self, guard: Any) -> None:
        self._guard = guard

    def parts(self, path: str, **scope: Any) -> list[dict[str, Any]]:
        headers = [
            (name.encode(), value.encode())
            for name, values in scope.pop("headers", {}).items()
            for value in ([values] if isinstance(values, str) else values)
        ]
        whole = {"type": "http", "method": "GET", "client": STRANGER, "server": SERVER, **scope}
        sent: list[dict[str, Any]] = []

        async def receive() -> None:
            pytest.fail("the guard read the body")

        async def send(part: dict[str, Any]) -> None:
            sent.append(part)

        asyncio.run(self._guard({"path": path, "headers": headers, **whole}, receive, send))
        return sent

    def __call__(self, path: str, **scope: Any) -> int:
        return int(self.parts(path, **scope)[0]["status"])

    def with_key(self, given: str | list[str], path: str = "/v1/models", **scope: Any) -> int:
        return self(path, headers={"authorization": given}, **scope)


@pytest.fixture
def ask(
    script: types.ModuleType, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> Asking:
    (tmp_path / "key").write_text(f"{KEY}\n")
    monkeypatch.setenv("SAMEWIRE_API_KEY_FILE", str(tmp_path / "key"))
    monkeypatch.setenv("SAMEWIRE_METRICS_CLIENTS", "10.9.8.7 10.7.0.1/16 fd00:7::/32")
    return Asking(script.Guard(application))


PATHS = (
    "/",
    "/metrics",
    "/metrics/",
    "/metricsfoo",
    "/invocations",
    "/tokenize",
    "/docs",
    "/v1/models",
    "/health/",
    "//health",
    "/healthy",
    "/HEALTH",
    "/ping/../metrics",
    "/nothing",
)


@pytest.mark.parametrize("path", PATHS)
def test_every_other_path_asks_for_the_key(ask: Asking, path: str) -> None:
    assert ask(path) == 401
    assert ask(path, method="OPTIONS") == 401
    assert ask(path, type="websocket") == 401
    assert ask.with_key(f"Bearer {KEY}", path) == 200
    assert ask.with_key(f"bearer {KEY}", path) == 200
    assert ask.with_key(f"Bearer {KEY}", path, type="websocket") == 200


@pytest.mark.parametrize("path", ["/health", "/ping"])
def test_whether_it_lives_is_no_secret(ask: Asking, path: str) -> None:
    assert ask(path) == 200
    assert ask(path, client=None) == 200
    assert ask(path, type="websocket") == 401


@pytest.mark.parametrize(
    "given",
    [
        "",
        "Bearer",
        "Bearer ",
        f"Bearer {KEY[:-1]}",
        f"Bearer {KEY}x",
        f"Bearer  {KEY}",
        f"Basic {KEY}",
        KEY,
        "Bearer \u00fc",
        [f"Bearer {KEY}", "Bearer other"],
        ["Bearer", KEY],
        [],
    ],
)
def test_another_key(ask: Asking, given: str | list[str]) -> None:
    assert ask.with_key(given) == 401


def test_the_refusal_has_the_form_of_openai(ask: Asking) -> None:
    start, body = ask.parts("/v1/models")
    assert start["type"] == "http.response.start"
    assert dict(start["headers"]) == {
        b"content-type": b"application/json",
        b"content-length": str(len(body["body"])).encode(),
        b"www-authenticate": b"Bearer",
    }
    assert json.loads(body["body"]) == {
        "error": {
            "message": "The key is missing or wrong, expected a header Authorization: Bearer KEY",
            "type": "invalid_request_error",
            "param": None,
            "code": "invalid_api_key",
        }
    }
    kinds = [part["type"] for part in ask.parts("/v1/realtime", type="websocket")]
    assert kinds == ["websocket.http.response.start", "websocket.http.response.body"]


def test_an_answer_passes_part_by_part(ask: Asking) -> None:
    headers = {"authorization": f"Bearer {KEY}"}
    parts = ask.parts("/v1/completions", method="POST", headers=headers)
    assert [part is sent for part, sent in zip(parts, ANSWER, strict=True)] == [True] * 3


def test_a_preflight_is_answered_by_vllm(ask: Asking) -> None:
    assert ask("/v1/models", method="OPTIONS", headers=PREFLIGHT) == 200
    assert ask("/v1/models", method="POST", headers=PREFLIGHT) == 401
    for header in PREFLIGHT.items():
        assert ask("/metrics", method="OPTIONS", headers=dict([header])) == 401


@pytest.mark.parametrize(
    ("client", "status"),
    [
        ("127.0.0.1", 200),
        ("127.8.0.1", 200),
        ("::1", 200),
        ("::ffff:127.0.0.1", 200),
        # The head's own address: who connects from there is on the head.
        ("10.1.0.180", 200),
        ("::ffff:10.1.0.180", 200),
        ("10.9.8.7", 200),
        ("::ffff:10.9.8.7", 200),
        ("10.7.255.1", 200),
        ("fd00:7::5", 200),
        ("10.9.8.8", 401),
        ("10.8.0.1", 401),
        ("fd00:8::5", 401),
        ("0.0.0.0", 401),
        ("testclient", 401),
        ("", 401),
    ],
)
def test_who_reads_the_metrics_without_the_key(ask: Asking, client: str, status: int) -> None:
    assert ask("/metrics", client=(client, 40000)) == status
    assert ask("/metrics", client=(client, 40000), type="websocket") == 401
    assert ask("/v1/models", client=(client, 40000)) == 401
    for name in ("x-forwarded-for", "forwarded"):
        assert ask("/metrics", client=(client, 0), headers={name: client}) == 401


def test_nobody_knows_who_asks(ask: Asking) -> None:
    assert ask("/metrics", client=None) == 401
    assert ask("/metrics", client=None, server=None) == 401
    assert ask("/metrics", server=("/run/vllm.sock", None)) == 401


def test_another_kind_of_scope_is_an_error(ask: Asking) -> None:
    assert ask.parts("/", type="lifespan") == ANSWER
    with pytest.raises(KeyError, match="carrier"):
        ask.parts("/", type="carrier pigeon")


@pytest.mark.parametrize(
    ("key", "clients", "error"),
    [
        (None, "", FileNotFoundError),
        ("", "", ValueError),
        (" \n", "", ValueError),
        (KEY, "everybody", ValueError),
    ],
)
def test_without_a_key_there_is_no_server(
    script: types.ModuleType,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    key: str | None,
    clients: str,
    error: type[Exception],
) -> None:
    if key is not None:
        (tmp_path / "key").write_text(key)
    monkeypatch.setenv("SAMEWIRE_API_KEY_FILE", str(tmp_path / "key"))
    monkeypatch.setenv("SAMEWIRE_METRICS_CLIENTS", clients)
    with pytest.raises(error):
        script.Guard(application)
    monkeypatch.delenv("SAMEWIRE_API_KEY_FILE")
    with pytest.raises(KeyError):
        script.Guard(application)
