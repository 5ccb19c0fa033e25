# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The lab's small hub, as a client of HTTP sees it."""

from __future__ import annotations

import hashlib
import http.client
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from samewire_lab.hub import Hub, Repository

SHARD = b"0123456789"


@contextmanager
def served(hub: Hub) -> Iterator[str]:
    server = hub.server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[str]:
    for name in ("open", "gated"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
        (tmp_path / name / "m.safetensors").write_bytes(SHARD)
    own = Hub(
        {"o/open": Repository(tmp_path / "open"), "o/gated": Repository(tmp_path / "gated", "key")}
    )
    with served(own) as endpoint:
        yield endpoint


def ask(url: str, method: str = "GET", **headers: str) -> tuple[int, Any, bytes]:
    request = urllib.request.Request(url, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, b""


def test_a_model_lists_its_files(hub: str) -> None:
    told = json.loads(ask(f"{hub}/api/models/o/open/revision/main?blobs=true")[2])
    assert told["siblings"] == [
        {
            "rfilename": "config.json",
            "size": 2,
            # git hash-object of "{}".
            "blobId": "9e26dfeeb6e641a33dae4961196235bdb965b21b",
        },
        {
            "rfilename": "m.safetensors",
            "size": 10,
            "blobId": "ad471007bd7f5983d273b9584e5629230150fd54",
            "lfs": {"sha256": hashlib.sha256(SHARD).hexdigest(), "size": 10, "pointerSize": 134},
        },
    ]
    assert ask(f"{hub}/api/models/o/open/revision/{told['sha']}")[0] == 200


def test_a_file_whole_and_in_part(hub: str) -> None:
    url = f"{hub}/o/open/resolve/main/m.safetensors"
    status, headers, content = ask(url)
    assert (status, content) == (200, SHARD)
    sha256 = hashlib.sha256(SHARD).hexdigest()
    assert (headers["ETag"], headers["X-Linked-Size"]) == (f'"{sha256}"', "10")
    status, headers, content = ask(url, Range="bytes=4-")
    assert (status, content, headers["Content-Range"]) == (206, b"456789", "bytes 4-9/10")
    assert ask(url, method="HEAD")[2] == b""


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("api/models/o/none", 401, "RepoNotFound"),
        ("api/models/o/open/revision/v9", 404, "RevisionNotFound"),
        ("o/open/resolve/main/none.json", 404, "EntryNotFound"),
        ("o/gated/resolve/main/config.json", 401, "GatedRepo"),
        ("elsewhere", 404, None),
    ],
)
def test_what_it_refuses(hub: str, path: str, status: int, code: str | None) -> None:
    got, headers, _ = ask(f"{hub}/{path}")
    assert (got, headers["X-Error-Code"]) == (status, code)


def test_a_gated_model_opens_to_its_token(hub: str) -> None:
    url = f"{hub}/o/gated/resolve/main/config.json"
    assert ask(url, Authorization="Bearer key")[2] == b"{}"
    assert ask(url, Authorization="Bearer other")[0] == 401
    assert ask(f"{hub}/api/models/o/gated")[0] == 200


def test_it_fails_as_often_as_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "m.safetensors").write_bytes(SHARD)
    with served(Hub({"o/m": Repository(tmp_path)}, failing=1)) as endpoint:
        url = f"{endpoint}/o/m/resolve/main/m.safetensors"
        assert [ask(url)[0], ask(url)[0]] == [500, 200]


def test_it_closes_connections_on_the_way(tmp_path: Path) -> None:
    (tmp_path / "m.safetensors").write_bytes(bytes(200_000))
    hub = Hub({"o/m": Repository(tmp_path)}, cut=100_000)
    with served(hub) as endpoint, pytest.raises(http.client.IncompleteRead) as broken:
        ask(f"{endpoint}/o/m/resolve/main/m.safetensors")
    assert len(broken.value.partial) == 65_536
