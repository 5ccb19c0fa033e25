# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What becomes of a container of before, on an engine of dictionaries and with a real server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.modules import kept_container
from tests.unit.modules import run_module


class Engine:
    """Containers of which each remembers what was first called so."""

    def __init__(self, *names: str, cluster: str = "pair", port: int = 1) -> None:
        self.found = {
            name: {
                "was": name,
                "Config": {
                    "Labels": {"samewire.cluster": cluster},
                    "Cmd": ["vllm", "serve", "--host", "127.0.0.1", "--port", str(port)],
                },
                "State": {"Running": not name.endswith("-before")},
            }
            for name in names
        }
        self.orders: list[str] = []

    def container(self, name: str) -> dict[str, Any] | None:
        return self.found.get(name)

    def _switch(self, order: str, name: str, running: bool) -> None:
        self.orders.append(f"{order} {name}")
        self.found[name]["State"] = {"Running": running}

    def start(self, name: str) -> None:
        self._switch("start", name, True)

    def stop(self, name: str, seconds: int) -> None:
        assert seconds == 10
        self._switch("stop", name, False)

    def rename(self, name: str, other: str) -> None:
        assert other not in self.found
        self.found[other] = self.found.pop(name)

    def remove(self, name: str) -> None:
        del self.found[name]

    def there(self) -> dict[str, tuple[str, bool]]:
        """Return what each container was called first, and whether it runs."""
        return {
            name: (str(each["was"]), bool(each["State"]["Running"]))  # type: ignore[index, call-overload]
            for name, each in self.found.items()
        }


def keeper(engine: Engine, check: bool = False) -> kept_container.Keeper:
    return kept_container.Keeper(engine, "pair", check=check)  # type: ignore[arg-type]


@pytest.fixture
def health(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, list[int]]]:
    """A server on a port that answers with the last status of the list."""
    # A proxy of the host is none for what is on the host.
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    statuses = [200]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(statuses[-1] if self.path == "/health" else 404)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1], statuses
        server.shutdown()


def test_a_server_that_serves_is_kept(health: tuple[int, list[int]]) -> None:
    engine = Engine("pair-vllm", port=health[0])
    assert keeper(engine).retire("vllm", None, 10) is True
    assert engine.there() == {"pair-vllm-before": ("pair-vllm", False)}


@pytest.mark.parametrize("fault", ["unhealthy", "stopped", "nobody listens"])
def test_a_server_that_does_not_serve_is_removed(health: tuple[int, list[int]], fault: str) -> None:
    engine = Engine("pair-vllm", port=1 if fault == "nobody listens" else health[0])
    if fault == "unhealthy":
        health[1].append(503)
    if fault == "stopped":
        engine.found["pair-vllm"]["State"] = {"Running": False}
    assert keeper(engine).retire("vllm", None, 10) is False
    assert engine.there() == {}


def test_ray_is_kept_where_the_server_is() -> None:
    for keep in (True, False):
        engine = Engine("pair-ray")
        assert keeper(engine).retire("ray", keep, 10) is keep
        assert list(engine.found) == ["pair-ray-before"] * keep


def test_what_an_unfinished_change_made_does_not_replace_what_was_proven() -> None:
    engine = Engine("pair-ray-before", "pair-ray")
    assert keeper(engine).retire("ray", False, 10) is True
    assert engine.there() == {"pair-ray-before": ("pair-ray-before", False)}
    assert keeper(engine).retire("ray", False, 10) is True


def test_all_come_back_ray_first() -> None:
    engine = Engine("pair-ray-before", "pair-vllm-before", "pair-ray", "pair-vllm")
    assert keeper(engine).restore([]) == ["pair-vllm", "pair-ray"]
    assert engine.there() == {
        "pair-vllm": ("pair-vllm-before", True),
        "pair-ray": ("pair-ray-before", True),
    }
    assert engine.orders == ["start pair-ray", "start pair-vllm"]


def test_only_what_came_with_the_change_goes_without_a_successor() -> None:
    engine = Engine("pair-ray", "pair-vllm")
    assert keeper(engine).restore([]) == []
    assert list(engine.found) == ["pair-ray", "pair-vllm"]
    assert keeper(engine).restore(["ray"]) == []
    assert list(engine.found) == ["pair-vllm"]
    assert keeper(engine).restore(["vllm"]) == []
    assert list(engine.found) == []


def test_what_was_kept_is_dropped() -> None:
    engine = Engine("pair-ray-before", "pair-ray", "pair-vllm-before")
    keeper(engine).drop()
    assert list(engine.found) == ["pair-ray"]


def test_containers_of_others_are_not_touched() -> None:
    names = ("pair-ray", "pair-ray-before", "pair-vllm", "pair-vllm-before")
    engine = Engine(*names, cluster="other")
    mine = keeper(engine)
    assert mine.retire("ray", True, 10) is False
    assert mine.restore(["ray"]) == []
    mine.drop()
    assert (tuple(engine.found), mine.changed) == (names, False)


def test_check_mode_says_what_would_be_done() -> None:
    engine = Engine("pair-ray", "pair-vllm-before")
    for act in (
        lambda mine: mine.retire("ray", True, 10),
        lambda mine: mine.restore([]),
        lambda mine: mine.drop(),
    ):
        mine = keeper(engine, check=True)
        act(mine)
        assert mine.changed
    assert list(engine.found) == ["pair-ray", "pair-vllm-before"]


def test_an_engine_that_is_not_there_is_named() -> None:
    done = run_module("kept_container", cluster="pair", state="dropped")
    assert done["failed"]
    assert done["msg"] == (
        "Docker does not obey: /nowhere does not exist; see whether it runs on this host"
    )
