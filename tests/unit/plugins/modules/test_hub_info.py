# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the lab's small hub says of a model, as the module reads it."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from samewire_lab.hub import Hub, Repository
from tests.unit.modules import run_module
from tests.unit.roles.test_hub_download import served

CONFIG = {"hidden_size": 64, "id2label": {"0": "never kept"}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "m.safetensors").write_bytes(b"0123456789")
    return tmp_path


def ask(endpoint: str, model: str = "o/m", **more: Any) -> dict[str, Any]:
    found = run_module("hub_info", endpoint=endpoint, model=model, **more)
    assert found["changed"] is False
    return dict(found["hub"])


def test_a_model(folder: Path) -> None:
    repository = Repository(folder)
    with served(Hub({"o/m": repository}).server()) as endpoint:
        found = ask(f"{endpoint}/")
        assert found == {
            "status": 200,
            "reason": "",
            "code": "",
            "commit": repository.commit,
            "files": {
                "config.json": {"size": len(json.dumps(CONFIG))},
                "m.safetensors": {"size": 10},
            },
            "config": {"hidden_size": 64},
        }
        assert ask(endpoint, revision="v9")["code"] == "RevisionNotFound"
        assert ask(endpoint, model="o/none")["status"] == 401


def test_a_model_without_config(folder: Path) -> None:
    (folder / "config.json").unlink()
    with served(Hub({"o/m": Repository(folder)}).server()) as endpoint:
        assert ask(endpoint)["config"] is None


def test_a_gated_model_opens_to_its_token(folder: Path) -> None:
    with served(Hub({"o/m": Repository(folder, "key")}).server()) as endpoint:
        for token in ("", "other"):
            found = ask(endpoint, token=token)
            assert (found["status"], found["code"]) == (401, "GatedRepo")
            assert found["reason"] == "Access to model o/m is restricted"
        assert ask(endpoint, token="key")["config"] == {"hidden_size": 64}


class Elsewhere(BaseHTTPRequestHandler):
    """Sends every request to another host, and remembers who came with a token."""

    target = ""

    def do_GET(self) -> None:
        self.send_response(307)
        self.send_header("Location", f"{self.target}{self.path}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        """Say nothing of each request."""


def test_another_host_does_not_get_the_token(folder: Path) -> None:
    with served(Hub({"o/m": Repository(folder, "key")}).server()) as target:
        handler = type("Here", (Elsewhere,), {"target": target})
        with served(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as endpoint:
            found = ask(endpoint, token="key")
            assert (found["code"], len(found["files"])) == ("GatedRepo", 2)


def test_a_hub_that_is_not_there() -> None:
    found = ask("http://127.0.0.1:9")
    assert (found["status"], found["reason"]) == (-1, "[Errno 111] Connection refused")


def test_only_http_is_asked(folder: Path) -> None:
    found = ask(f"file://{folder}")
    assert (found["status"], found["files"]) == (-1, {})
    assert found["reason"].endswith("is no address of HTTP")


@pytest.mark.parametrize(("status", "body"), [(500, b"{}"), (200, b"no JSON")])
def test_a_hub_that_is_broken(status: int, body: bytes) -> None:
    class Broken(Elsewhere):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with served(ThreadingHTTPServer(("127.0.0.1", 0), Broken)) as endpoint:
        found = ask(endpoint)
    assert found["status"] == (500 if status == 500 else -1)
    assert found["reason"]
