# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Which host sends what to which others, and the words for what stands against it."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _weights_plan

MODEL = "/models/m"
FILES = {
    "config.json": {"size": 10, "hash": "c" * 64, "full": "c" * 64},
    "model.safetensors": {"size": 4_000_000_000, "hash": "d" * 64, "full": "e" * 64},
}
ROOM = {"staged": 0, "free": 10_000_000_000, "writable": True, "rsync": True, "mount": None}
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
    more = {**FILES, "tokenizer.json": {"size": 5, "hash": "f" * 64, "full": "f" * 64}}
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
    damaged = has(corrupt={"blobs/aa": ["aa", "bb"]})
    sentence = "head: /models/m/blobs/aa is damaged: expected SHA-256 aa by its name, got bb; "
    assert plan(model="o/m", head=damaged).flaws[0].startswith(sentence)
    # The hub gives it anew, or another host does.
    assert problems(model="o/m", head=damaged) == []
    assert plan(model="o/m", head=damaged, a=has()).source == "a"


def test_a_link_that_the_containers_do_not_see() -> None:
    assert problems(head=has(outside={"a.bin": "/data/a.bin"})) == [
        "head: /models/m/a.bin is a link to /data/a.bin, which the containers do not see, expected a file "
        "within /models/m; put the file itself there with: cp --remove-destination /data/a.bin "
        "/models/m/a.bin on head, or, where ray_node_mounts lets them see it, set model_weights_sync: false"
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


RECEIVERS = [
    (
        {"rsync": False, "writable": False, "free": 5_000_000},
        "a: rsync is not installed, expected it for the weights to go over the interconnect; install it "
        "(Debian, Ubuntu: apt install rsync) on a",
    ),
    (
        {"writable": False, "free": 5_000_000},
        "a: /models/m cannot be written, expected a place for the weights that this user may write; set "
        "ansible_become: true, or correct the permissions on a",
    ),
    (
        {"free": 5_000_000},
        "a: /models/m needs 4.0 GB more, got 5.0 MB free on its disk; make room on a",
    ),
]


@pytest.mark.parametrize(("lacks", "sentence"), RECEIVERS)
def test_what_a_receiver_lacks_is_one_sentence(lacks: dict[str, Any], sentence: str) -> None:
    assert problems(head=has(), a={**NONE, **lacks}) == [sentence]


DOWNLOAD = {
    "host": "head",
    "problems": [],
    "exclude": [],
    "files": {"config.json": {"size": 10}, "m.safetensors": {"size": 4_000_000_000}},
    "config": {"hidden_size": 1},
}


def from_hub(download: dict[str, Any] | None = None, **found: Any) -> _weights_plan.WeightsPlan:
    return _weights_plan.from_hub(
        plan(model="o/m", **found), found, MODEL, {**DOWNLOAD, **(download or {})}
    )


@pytest.mark.parametrize(("lacks", "sentence"), RECEIVERS)
def test_a_download_needs_what_a_transfer_needs(lacks: dict[str, Any], sentence: str) -> None:
    decided = from_hub(head=NONE, a={**NONE, **lacks})
    assert (decided.source, decided.size, decided.problems) == (None, 4_000_000_010, [sentence])


def test_a_download_that_nobody_else_needs() -> None:
    bare = {**NONE, "rsync": False}
    assert from_hub(head=bare).problems == []
    shared = {**bare, "mount": "nfs4 server:/home/hub"}
    assert from_hub(head=shared, a=shared).problems == []
    assert len(from_hub(head=shared, a=bare).problems) == 2


def test_what_a_hub_says_counts_first_and_its_sizes_are_kept() -> None:
    decided = from_hub({"problems": ["no"]}, head={**NONE, "free": 0})
    assert (decided.problems, decided.settled) == (["no"], False)
    assert decided.model == {"config": {"hidden_size": 1}, "files": DOWNLOAD["files"]}
    damaged = has(corrupt={"blobs/aa": ["aa", "bb"]})
    assert from_hub(head=damaged).flaws == plan(model="o/m", head=damaged).flaws != ()


def unhashed(**more: Any) -> dict[str, Any]:
    """Return a host that has hashed samples only."""
    return has({name: {**entry, "full": None} for name, entry in FILES.items()}, **more)


def test_nothing_is_to_be_done() -> None:
    assert plan(head=has(), a=has()).settled
    assert not plan(head=has(), a=NONE).settled
    assert not plan(head=has(), a=unhashed()).settled
    # Alone there is nobody to compare with.
    assert plan(head=unhashed()).settled
    other = {**FILES, "model.safetensors": {**FILES["model.safetensors"], "full": "f" * 64}}
    assert not plan(head=has(), a=has(other)).settled
    mount = "nfs4 server:/models/m"
    assert plan(head=unhashed(mount=mount), a=unhashed(mount=mount)).settled
    assert not plan(head=unhashed(mount=mount), a=unhashed(mount="nfs4 other:/models/m")).settled


def test_what_is_known_of_the_model() -> None:
    files = {
        "snapshots/c/m.bin": {"size": 0, "hash": "-> ../../blobs/b", "full": "-> ../../blobs/b"},
        "blobs/b": {"size": 7, "hash": "a" * 64, "full": None},
        "snapshots/c/config.json": FILES["config.json"],
    }
    decided = plan(model="o/m", head=has(files, base="snapshots/c/", config={"x": 1}), a=NONE)
    assert decided.model == {
        "config": {"x": 1},
        "files": {"m.bin": {"size": 7}, "config.json": {"size": 10}},
    }


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
