# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Which host sends what to which others, and the words for what stands against it."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _weights_plan

MODEL = "/models/m"
FILES = {
    "config.json": {"size": 10, "hash": "c" * 64},
    "model.safetensors": {"size": 4_000_000_000, "hash": "d" * 64},
}
ROOM = {"staged": 0, "free": 10_000_000_000, "writable": True, "rsync": True}
NONE = {"exists": False, **ROOM}


def has(files: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "exists": True,
        "folder": True,
        "reason": None,
        "base": "",
        "files": FILES if files is None else files,
        **{kind: {} for kind in ("missing", "broken", "corrupt", "outside")},
        **ROOM,
        **more,
    }


def plan(source: str = "", model: str = MODEL, **found: Any) -> _weights_plan.WeightsPlan:
    return _weights_plan.plan(found, model, MODEL, "head", source)


def problems(source: str = "", model: str = MODEL, **found: Any) -> list[str]:
    return list(plan(source, model, **found).problems)


def test_the_head_sends_to_those_that_lack_something() -> None:
    decided = plan(head=has(), a=NONE, b=has())
    assert (decided.source, decided.size, decided.problems) == ("head", 4_000_000_010, [])
    assert {host: each.size for host, each in decided.receivers.items()} == {"a": 4_000_000_010}
    assert _weights_plan.notes(decided) == [
        "a: receives 4.0 GB of weights in 2 files from head over the interconnect"
    ]


def test_who_has_most_of_what_is_read_sends() -> None:
    more = {**FILES, "tokenizer.json": {"size": 5, "hash": "f" * 64}}
    decided = plan(head=has(), a=has(more), b=has({**FILES, "README.md": FILES["config.json"]}))
    assert decided.source == "a"
    assert list(decided.receivers["head"].files) == ["tokenizer.json"]


def test_refs_come_last() -> None:
    names = ("refs/main", "snapshots/c/config.json", "snapshots/c/a.bin", "blobs/b")
    files = dict.fromkeys(names, FILES["config.json"])
    decided = plan(head=has(files, base="snapshots/c/"), a=NONE)
    assert list(decided.receivers["a"].files)[-1] == "refs/main"


def test_nobody_has_it() -> None:
    assert problems(head=NONE, a=NONE) == [
        "no host has the model: expected /models/m on at least one of a, head; copy it to head, correct "
        "vllm_server_model, or give a hub id"
    ]
    decided = plan(model="o/m", head=NONE, a=NONE)
    assert (decided.source, list(decided.problems)) == (None, [])


def test_nobody_has_it_whole() -> None:
    broken = has(broken={"model.safetensors": [5, 4]})
    sentence = (
        "head: /models/m/model.safetensors is damaged: expected 5 bytes by its header, got 4 bytes; copy it "
        "to head again"
    )
    assert problems(head=broken, a=NONE) == [sentence]
    # The hub completes it.
    assert problems(model="o/m", head=broken, a=NONE) == []
    assert plan(head=broken, a=has()).source == "a"


def test_a_blob_that_is_not_what_its_name_says() -> None:
    assert problems(model="o/m", head=has(corrupt={"blobs/aa": ["aa", "bb"]})) == [
        "head: /models/m/blobs/aa is damaged: expected SHA-256 aa by its name, got bb; remove it with: rm "
        "/models/m/blobs/aa on head, and run again"
    ]


def test_a_link_that_the_containers_do_not_see() -> None:
    assert problems(head=has(outside={"a.bin": "/data/a.bin"})) == [
        "head: /models/m/a.bin is a link to /data/a.bin, which the containers do not see, expected a file "
        "within /models/m; put the file itself there with: cp --remove-destination /data/a.bin "
        "/models/m/a.bin on head"
    ]


def test_two_contents() -> None:
    other = has({**FILES, "config.json": {"size": 11, "hash": "e" * 64}})
    assert problems(head=has(), a=other, b=NONE) == [
        "a and head have different weights in /models/m: config.json has 11 bytes with hash eeeeeeeeeeee on "
        "a and 10 bytes with hash cccccccccccc on head; set model_weights_source to the host whose weights "
        "are right"
    ]
    decided = plan("a", head=has(), a=other, b=NONE)
    assert (decided.source, decided.problems) == ("a", [])
    assert {host: list(each.files) for host, each in decided.receivers.items()} == {
        "b": ["config.json", "model.safetensors"],
        "head": ["config.json"],
    }


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("z", "model_weights_source is z, expected one of a, head; correct it in the inventory"),
        (
            "a",
            "a: /models/m does not exist, expected the model there, since model_weights_source is a; copy it "
            "to a or correct model_weights_source",
        ),
    ],
)
def test_a_pinned_source_that_cannot_be(source: str, sentence: str) -> None:
    assert problems(source, head=has(), a=NONE) == [sentence]


def test_weights_that_would_be_loaded_too() -> None:
    more = {**FILES, "old.safetensors": FILES["config.json"], "old.md": FILES["config.json"]}
    assert problems(head=has(), a=has(more, broken={"old.safetensors": [5, 4]})) == [
        "a: /models/m/old.safetensors is not among the files of head, and would be loaded, too; remove it "
        "from a"
    ]
    # Another snapshot of the hub's cache is not loaded.
    elsewhere = has({"snapshots/o/b.bin": FILES["config.json"]}, base="snapshots/o/")
    assert (
        problems(
            "head",
            head=has(
                base="snapshots/c/",
                files={
                    "snapshots/c/config.json": FILES["config.json"],
                    "snapshots/c/m.bin": FILES["config.json"],
                },
            ),
            a=elsewhere,
        )
        == []
    )


def test_what_a_receiver_lacks() -> None:
    assert problems(
        head=has(), a={**NONE, "rsync": False, "writable": False, "free": 5_000_000}
    ) == [
        "a: rsync is not installed, expected it for the weights to go over the interconnect; install it "
        "(Debian, Ubuntu: apt install rsync) on a",
        "a: /models/m cannot be written, expected a place for the weights that this user may write; set "
        "ansible_become: true, or correct the permissions on a",
        "a: /models/m needs 4.0 GB more, got 5.0 MB free on its disk; make room on a",
    ]


def test_what_has_arrived_needs_no_room() -> None:
    assert problems(head=has(), a={**NONE, "free": 1_000_000_010, "staged": 3_000_000_000}) == []


def test_a_source_without_rsync_matters_only_where_something_is_sent() -> None:
    bare = has(rsync=False)
    assert problems(head=bare, a=NONE) == [
        "head: rsync is not installed, expected it for the weights to go over the interconnect; install it "
        "(Debian, Ubuntu: apt install rsync) on head"
    ]
    assert problems(head=bare, a=bare) == []


@pytest.mark.parametrize(
    ("size", "told"),
    [
        (0, "0 bytes"),
        (999_999, "999,999 bytes"),
        (5_250_000, "5.2 MB"),
        (1_234_567_890_123, "1,234.6 GB"),
    ],
)
def test_amounts(size: int, told: str) -> None:
    assert _weights_plan.amount(size) == told
