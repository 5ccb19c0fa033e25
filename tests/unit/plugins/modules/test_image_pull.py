# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""An image is pulled where it lacks and its registry gives it; what else happens is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.engines import FakeEngine, fake_engine
from tests.unit.modules import run_module

NAME = "registry.example/vllm:1"
OLD = {"Id": "sha256:00", "RepoDigests": ["registry.example/vllm@sha256:old"]}
NEW = {"Id": "sha256:aa", "RepoDigests": ["registry.example/vllm@sha256:new"]}
NOTHING_TO_DO = {"changed": False, "over": True, "problem": "", "unavailable": ""}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[FakeEngine]:
    with fake_engine(tmp_path / "docker.sock") as engine:
        engine.becomes = {NAME: NEW}
        engine.events = [
            {"status": "Pulling from vllm", "id": "1"},
            {"status": "Pull complete", "id": "aa"},
        ]
        yield engine


def pull(engine: FakeEngine, *, check: bool = False, **given: Any) -> dict[str, Any]:
    """Run the module until all is over, as the action does."""
    given = {"name": NAME, "check": check, "docker": engine.socket, **given}
    seen = run_module("image_pull", **given)
    if "job" in seen:
        seen = run_module("image_pull", **given, job=seen["job"], seconds=30)
    seen.pop("invocation", None)
    return seen


def test_an_image_that_lacks(engine: FakeEngine) -> None:
    assert pull(engine, check=True) == {**NOTHING_TO_DO, "changed": True, "image": {}}
    assert engine.images == {}
    done = pull(engine)
    assert (done["changed"], done["over"], done["image"]) == (True, True, NEW)
    assert done["progress"] == "pulled the image, layers 1/1"
    assert pull(engine) == {**NOTHING_TO_DO, "image": NEW}


@pytest.mark.parametrize(("digest", "changed"), [("sha256:old", False), ("sha256:new", True)])
def test_what_is_there_is_asked_for_only_where_it_is_wanted(
    engine: FakeEngine, digest: str, changed: bool
) -> None:
    engine.images, engine.digests = {NAME: OLD}, {NAME: digest}
    assert pull(engine) == {**NOTHING_TO_DO, "image": OLD}
    assert pull(engine, pull="always", check=True)["changed"] is changed
    done = pull(engine, pull="always")
    assert (done["changed"], done["image"]) == (changed, NEW if changed else OLD)


def test_an_optional_registry_that_does_not_give_it(engine: FakeEngine) -> None:
    expected = {**NOTHING_TO_DO, "image": {}, "unavailable": "no such thing"}
    assert pull(engine, registry="optional") == expected
    assert pull(engine, registry="unused") == {**NOTHING_TO_DO, "image": {}}
    engine.digests = {NAME: "sha256:new"}
    assert pull(engine, registry="optional")["image"] == NEW


@pytest.mark.parametrize(
    ("said", "cure"),
    [
        (
            "pull access denied for vllm, repository does not exist or may require 'docker login'",
            "log in with docker login on this host, or correct container_image_name",
        ),
        ("manifest for i:1 not found: manifest unknown", "correct container_image_name"),
        (
            "write /one: no space left on device",
            "make room on the disk of Docker, as with docker image prune",
        ),
        ("unexpected EOF", "look whether the registry answers to this host, and run again"),
        (
            "received unexpected HTTP status: 500 Internal Server Error",
            "look whether the registry answers to this host, and run again",
        ),
    ],
)
def test_a_pull_that_fails(engine: FakeEngine, said: str, cure: str) -> None:
    engine.events, engine.becomes = [{"error": said, "errorDetail": {"message": said}}], {}
    done = pull(engine)
    assert done["over"] is False
    assert done["problem"] == f"image {NAME} cannot be pulled from its registry ({said}); {cure}"


def test_no_engine(tmp_path: Path) -> None:
    nowhere = FakeEngine(str(tmp_path / "none.sock"))
    assert pull(nowhere)["problem"] == (
        f"Docker does not answer ({tmp_path}/none.sock does not exist)"
    )


def test_an_image_that_was_seen_is_not_looked_for_again(engine: FakeEngine) -> None:
    engine.digests = {NAME: "sha256:old"}
    assert pull(engine, pull="always", seen=OLD) == {**NOTHING_TO_DO, "image": OLD}
