# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What an offer asks before it gives anything, and that nothing of it stays."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _image_stream
from ansible_collections.samewire.vllm.plugins.modules import image_offer
from tests.unit.engines import FakeEngine, fake_engine
from tests.unit.images import Image, layer
from tests.unit.modules import run_module
from tests.unit.waiting import until

HERE = "127.0.0.1"
NAME = "vllm:1"
IMAGE = Image([layer("one", b"1" * 3_000_000), layer("two", b"2" * 3_000_000)])


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[FakeEngine]:
    with fake_engine(tmp_path / "docker.sock") as engine:
        engine.images = {NAME: IMAGE.inspected}
        engine.files = {NAME: IMAGE.saved(NAME)}
        yield engine


@pytest.fixture
def offer(engine: FakeEngine) -> Iterator[dict[str, Any]]:
    offered = run_module(
        "image_offer", docker=engine.socket, address=HERE, name=NAME, peers=[HERE], token="right"
    )
    yield offered
    run_module("image_offer", end=offered["offer"])


def answered(port: int, said: bytes) -> bytes:
    """Return what comes after the nonce, until the other side hangs up."""
    with socket.create_connection((HERE, port), timeout=30) as connection:
        stream = connection.makefile("rb")
        assert len(stream.readline()) == 33
        connection.sendall(said)
        return stream.read()


@pytest.mark.parametrize(
    "said",
    [
        b"\n",
        b"[]\n",
        b"\xff\n",
        json.dumps({"nonce": "n", "held": 0, "seal": "wrong"}).encode() + b"\n",
        json.dumps({"nonce": "n", "held": 0, "seal": 7}).encode() + b"\n",
    ],
)
def test_who_does_not_know_the_token_gets_nothing(offer: dict[str, Any], said: bytes) -> None:
    assert answered(offer["port"], said) == b""


def test_strangers_are_not_spoken_to(engine: FakeEngine) -> None:
    offered = run_module(
        "image_offer",
        docker=engine.socket,
        address=HERE,
        name=NAME,
        peers=["192.0.2.7"],
        token="right",
    )
    with socket.create_connection((HERE, offered["port"]), timeout=30) as connection:
        assert connection.recv(100) == b""
    run_module("image_offer", end=offered["offer"])


def test_it_ends_when_it_is_told_to(offer: dict[str, Any]) -> None:
    assert Path(offer["offer"]).is_dir()
    run_module("image_offer", end=offer["offer"])

    def gone() -> bool:
        with socket.socket() as asking:
            return asking.connect_ex((HERE, offer["port"])) != 0

    until(gone)


def test_the_token_is_nowhere_on_disk(offer: dict[str, Any]) -> None:
    assert list(Path(offer["offer"]).iterdir()) == []


def test_check_mode_offers_nothing(engine: FakeEngine) -> None:
    given = {"address": HERE, "name": NAME, "token": "right"}
    done = run_module("image_offer", check=True, docker=engine.socket, **given)
    assert (done["changed"], "port" in done) == (False, False)


def test_an_image_that_is_not_there(engine: FakeEngine) -> None:
    given = {"address": HERE, "name": "other:1", "token": "right"}
    done = run_module("image_offer", docker=engine.socket, **given)
    assert done["msg"] == "there is no image other:1 on this host, expected it, to be sent"


def test_an_image_that_finds_no_room_to_be_saved(engine: FakeEngine) -> None:
    engine.images[NAME] |= {"Size": 1 << 62}
    given = {"address": HERE, "name": NAME, "token": "right"}
    done = run_module("image_offer", docker=engine.socket, **given)
    assert done["msg"].startswith(
        f"image {NAME} needs 4,611,686,018.4 GB in / while it is sent, got"
    )
    # The store of containerd makes no file.
    engine.storage = "io.containerd.snapshotter.v1"
    done = run_module("image_offer", docker=engine.socket, **given)
    run_module("image_offer", end=done["offer"])


def test_an_address_that_is_not_here(engine: FakeEngine) -> None:
    given = {"address": "192.0.2.1", "name": NAME, "token": "right"}
    done = run_module("image_offer", docker=engine.socket, **given)
    assert done["msg"].startswith(f"image {NAME} cannot be offered on 192.0.2.1: ")


def receiver(held: int) -> tuple[image_offer._Receiver, socket.socket]:
    ours, theirs = socket.socketpair()
    return image_offer._Receiver(ours, held), theirs


def test_one_save_feeds_hosts_that_hold_different_layers(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{engine.socket}")
    small = Image([layer("one", b"1" * 300), layer("two", b"2" * 300)])
    engine.files = {NAME: small.saved(NAME)}
    (all_of_it, one), (upper, two), (gone, three) = receiver(0), receiver(1), receiver(0)
    three.close()
    image_offer.send(NAME, small.diff_ids, [all_of_it, upper, gone], compress=False)
    got = [b"".join(_image_stream.payloads(end.makefile("rb").read)) for end in (one, two)]
    assert (b"1" * 300 in got[0], b"2" * 300 in got[0]) == (True, True)
    assert (b"1" * 300 in got[1], b"2" * 300 in got[1]) == (False, True)
    assert gone.broken


def test_who_waits_is_told_that_docker_does_not_give_it(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{engine.socket}")
    waiting, end = receiver(0)
    image_offer.send("other:1", [], [waiting], compress=False)
    with pytest.raises(EOFError, match="no such thing"):
        list(_image_stream.payloads(end.makefile("rb").read))
