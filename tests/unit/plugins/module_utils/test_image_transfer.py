# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Who receives an image, what of it, and what stands against it."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _image_transfer

IMAGE = {"Id": "sha256:aa", "Size": 4_100_000_000, "RepoDigests": []}
OLDER = {"Id": "sha256:00", "Size": 1, "RepoDigests": [], "RootFS": {"Layers": ["sha256:1"]}}
NOWHERE = "dial tcp: network is unreachable"


def plan(
    distribution: str, head: dict[str, Any], own: dict[str, Any], name: str = "i:1"
) -> _image_transfer.ImageTransfer:
    return _image_transfer.plan(
        {"node0": {"image": head}, "node1": own}, name, "node0", distribution, {}
    )


@pytest.mark.parametrize(
    ("distribution", "own", "receives"),
    [
        ("auto", {"image": IMAGE, "unavailable": ""}, False),
        ("auto", {"image": {}, "unavailable": NOWHERE}, True),
        # Asked with container_image_pull=always, and not answered.
        ("auto", {"image": OLDER, "unavailable": NOWHERE}, True),
        ("auto", {"image": IMAGE, "unavailable": NOWHERE}, False),
        # Which of the two is meant is for the gate to ask.
        ("auto", {"image": OLDER, "unavailable": ""}, False),
        # What a run that changes nothing says of a host that would pull.
        ("auto", {"image": {}, "unavailable": ""}, False),
        ("head", {"image": OLDER, "unavailable": ""}, True),
        ("head", {"image": {}, "unavailable": ""}, True),
        ("head", {"image": IMAGE, "unavailable": ""}, False),
        ("pull", {"image": {}, "unavailable": ""}, False),
    ],
)
def test_who_receives(distribution: str, own: dict[str, Any], receives: bool) -> None:
    assert plan(distribution, IMAGE, own).receivers == (["node1"] if receives else [])


def test_a_head_that_is_yet_to_pull() -> None:
    found = plan("head", {}, {"image": {}, "unavailable": ""})
    assert found.notes == [
        "node1: receives image i:1 from node0 over the interconnect, since "
        "container_image_distribution is head"
    ]
    assert plan("head", {}, {"image": OLDER, "unavailable": ""}).receivers == []


def test_nobody_sends_where_no_head_is_named() -> None:
    found = {host: {"image": IMAGE, "unavailable": ""} for host in ("node0", "node1")}
    assert _image_transfer.plan(found, "i:1", "", "head", {}).receivers == []


def test_one_line_says_why() -> None:
    found = plan("auto", IMAGE, {"image": {}, "unavailable": NOWHERE})
    assert found.notes == [
        "node1: receives image i:1 (4.1 GB) from node0 over the interconnect, since the registry does not "
        f"give it to this host ({NOWHERE})"
    ]


def test_a_name_that_only_a_registry_can_give() -> None:
    found = plan("auto", IMAGE, {"image": {}, "unavailable": NOWHERE}, "i@sha256:aa")
    assert found.problems == [
        "image i@sha256:aa is named by its digest, which Docker knows only of an image that it pulled, "
        "expected a tag for node1 to receive it from node0; set container_image_name to name:tag, or open "
        "the way to the registry"
    ]


@pytest.mark.parametrize(
    ("speeds", "compress"),
    [
        ({}, False),
        ({"node0": -1, "node1": None}, False),
        ({"node0": 100_000, "node1": 100_000, "node2": 100_000}, False),
        ({"node0": 100_000, "node1": 100, "node2": 100_000}, True),
        # Two share what is enough for one.
        ({"node0": 700, "node1": 700, "node2": 700}, True),
        ({"node0": 1000, "node1": 1000, "node2": 1000}, False),
    ],
)
def test_compressed_where_the_link_is_slower_than_gzip(
    speeds: dict[str, int | None], compress: bool
) -> None:
    assert _image_transfer.compressed(speeds, "node0", ["node1", "node2"]) is compress


@pytest.mark.parametrize(
    ("others", "count"),
    [([], 0), (["abx", "ab"], 2), (["bc"], 0), (["abcd"], 3), (["abc", "a"], 3)],
)
def test_layers_that_a_host_holds(others: list[str], count: int) -> None:
    assert _image_transfer.held("abc", others) == count


def test_a_layer_that_comes_again_is_not_spared() -> None:
    assert _image_transfer.spared(["a", "b", "a"], 2) == {"b"}
    assert _image_transfer.spared(["a", "b", "a"], 3) == {"a", "b"}
    assert _image_transfer.spared(["a"], 0) == frozenset()


def test_sizes_of_the_layers() -> None:
    history = [{"Size": 0}, {"Size": 30}, {"Size": 0}, {"Size": 20}]
    assert _image_transfer.sizes(["a", "b"], history) == [20, 30]
    assert _image_transfer.sizes(["a", "b", "c", "d"], history) == [20, 0, 30, 0]
    assert _image_transfer.sizes(["a", "b", "c"], history) == []


def test_what_is_lacking() -> None:
    assert _image_transfer.lacking(50, [20, 30], 1) == 30
    assert _image_transfer.lacking(50, [], 1) == 50


def test_processor() -> None:
    assert _image_transfer.processor_problem("i:1", "amd64", "x86_64") is None
    assert _image_transfer.processor_problem("i:1", "arm64", "aarch64") is None
    assert _image_transfer.processor_problem("i:1", "arm64", "x86_64") == (
        "image i:1 of the head is for arm64, expected one for amd64, the processor of this host; set "
        "container_image_distribution to pull, or build the image for both"
    )


def test_room() -> None:
    def problem(free: int | None, *, receiving: bool) -> str | None:
        return _image_transfer.room_problem("i:1", "/d", 2_000_000_000, free, receiving=receiving)

    assert problem(None, receiving=True) is None
    assert problem(4_000_000_000, receiving=True) is None
    assert problem(3_900_000_000, receiving=True) == (
        "image i:1 needs 4.0 GB in /d while it arrives (twice its size, as Docker unpacks it there), got "
        "3.9 GB free; make room there, as with docker image prune"
    )
    assert problem(2_000_000_000, receiving=False) is None
    assert problem(1_000_000, receiving=False) == (
        "image i:1 needs 2.0 GB in /d while it is sent, got 1.0 MB free; make room there, as with docker "
        "image prune"
    )
