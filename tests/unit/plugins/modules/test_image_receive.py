# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Receiving from a real offer on this host, between two engines that only keep what they are given."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.unit.engines import FakeEngine, fake_engine
from tests.unit.images import Image, layer
from tests.unit.modules import run_module

HERE = "127.0.0.1"
NAME = "vllm:1"
IMAGE = Image([layer("one", b"1" * 3_000_000), layer("two", b"2" * 2_000_000)])


@dataclass
class Pair:
    """Two hosts: one that offers the image, and one that receives it."""

    head: FakeEngine
    own: FakeEngine
    compress: bool = False

    def receive(self, *, check: bool = False, **more: Any) -> dict[str, Any]:
        offered = run_module(
            "image_offer",
            docker=self.head.socket,
            address=HERE,
            name=NAME,
            peers=[HERE],
            token="right",
            compress=self.compress,
        )
        given = {
            "name": NAME,
            "expected": IMAGE.inspected,
            "sizes": [3_000_000, 2_000_000],
            "source": "spark0",
            "source_address": HERE,
            "port": offered["port"],
            "token": "right",
            "address": HERE,
            **more,
        }
        seen = run_module("image_receive", docker=self.own.socket, check=check, **given)
        if "job" in seen:
            job = {"job": seen["job"], "seconds": 30}
            seen = run_module("image_receive", docker=self.own.socket, **given, **job)
            assert not Path(job["job"]).exists()
        run_module("image_offer", end=offered["offer"])
        return seen

    @property
    def layers(self) -> set[str]:
        """What of the image the receiving engine was given."""
        data = self.own.loaded
        data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            names = set(archive.getnames())
        assert "manifest.json" in names
        return {each for each in IMAGE.diff_ids if f"blobs/{each.replace(':', '/')}" in names}


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with fake_engine(tmp_path / "head.sock") as head, fake_engine(tmp_path / "own.sock") as own:
        head.images, head.files = {NAME: IMAGE.inspected}, {NAME: IMAGE.saved(NAME)}
        own.becomes = {NAME: IMAGE.inspected}
        yield Pair(head, own)


def test_an_image_arrives(pair: Pair) -> None:
    done = pair.receive()
    assert (done["changed"], done["over"], done["problem"]) == (True, True, "")
    assert done["image"] == IMAGE.inspected
    assert done["progress"] == "received the image, 5.0 MB"
    assert pair.layers == set(IMAGE.diff_ids)


def test_it_arrives_compressed(pair: Pair) -> None:
    pair.compress = True
    assert pair.receive()["over"]
    assert len(pair.own.loaded) < 100_000
    assert pair.layers == set(IMAGE.diff_ids)


def test_layers_of_another_image_are_not_received(pair: Pair) -> None:
    base = replace(IMAGE, layers=IMAGE.layers[:1]).inspected
    pair.own.images = {str(base["Id"]): base}
    assert pair.receive()["over"]
    assert pair.layers == set(IMAGE.diff_ids[1:])


def test_the_store_of_containerd_receives_all(pair: Pair) -> None:
    base = replace(IMAGE, layers=IMAGE.layers[:1]).inspected
    pair.own.images = {str(base["Id"]): base}
    pair.own.storage = "io.containerd.snapshotter.v1"
    assert pair.receive()["over"]
    assert pair.layers == set(IMAGE.diff_ids)


def test_check_mode_receives_nothing(pair: Pair) -> None:
    done = pair.receive(check=True)
    assert (done["changed"], done["over"], pair.own.loaded) == (True, True, b"")
    assert pair.receive(check=True, expected={})["changed"]


@pytest.mark.parametrize("check", [True, False])
def test_what_cannot_be_received_is_refused_first(pair: Pair, check: bool) -> None:
    other = {**IMAGE.inspected, "Architecture": "arm64"}
    assert pair.receive(check=check, expected=other)["problem"].startswith(
        f"image {NAME} of the head is for arm64, expected one for amd64"
    )
    large = {**IMAGE.inspected, "Size": 1 << 62}
    assert pair.receive(check=check, expected=large, sizes=[])["problem"].startswith(
        f"image {NAME} needs 9,223,372,036.9 GB in / while it arrives"
    )
    assert pair.own.loaded == b""


def test_another_token(pair: Pair) -> None:
    said = pair.receive(token="wrong")["problem"]
    assert said.startswith(f"spark0 at {HERE} port ")
    assert said.endswith(
        f"does not offer image {NAME} (it does not know the token of this transfer); run again"
    )
    assert pair.own.loaded == b""


def test_nobody_offers(pair: Pair) -> None:
    assert pair.receive(port=1)["problem"] == (
        f"spark0 at {HERE} port 1 does not offer image {NAME} ([Errno 111] Connection refused); run again"
    )


def test_an_image_that_breaks_off(pair: Pair) -> None:
    pair.head.files = {NAME: IMAGE.saved(NAME)[:4_000_000]}
    assert pair.receive()["problem"] == (
        f"receiving image {NAME} from spark0 at {HERE} broke off after 3.0 MB (unexpected end of data); "
        "Docker keeps nothing of an image that did not arrive whole, run again"
    )
    assert pair.own.images == {}


def test_an_image_that_is_not_the_one_of_the_source(pair: Pair) -> None:
    other = replace(IMAGE, variables=["PATH=/other"]).inspected
    pair.own.becomes = {NAME: other}
    assert pair.receive()["problem"] == (
        f"image {NAME} did not arrive as spark0 has it: expected {IMAGE.inspected['Id']}, got {other['Id']}; "
        "run again"
    )


def test_docker_that_does_not_take_it(pair: Pair) -> None:
    pair.own.events, pair.own.becomes = [{"error": "no space left on device"}], {}
    assert pair.receive()["problem"] == (
        f"image {NAME} from spark0 could not be loaded after 5.0 MB (no space left on device); Docker has "
        "kept nothing of it, cure what it says and run again"
    )
