# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Weights that are not the same, or not whole, are told by host and file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _weights

FILES = {
    "config.json": {"size": 800, "hash": "c" * 64},
    "model.safetensors": {"size": 4_000_000, "hash": "a" * 64},
}


def own(files: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    return {
        "exists": True,
        "folder": True,
        "reason": None,
        "files": FILES if files is None else files,
        "missing": {},
        "broken": {},
        **changes,
    }


def problems(**found: dict[str, Any]) -> list[str]:
    return _weights.problems("/models/m", found, "node0")


def test_equal_and_whole() -> None:
    assert problems(node0=own(), node1=own()) == []


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        (
            own({**FILES, "model.safetensors": {"size": 4_000_000, "hash": "b" * 64}}),
            "node1: /models/m/model.safetensors differs from that of node0: expected 4,000,000 bytes with "
            "hash aaaaaaaaaaaa, got 4,000,000 bytes with hash bbbbbbbbbbbb; copy the model from node0 "
            "to node1",
        ),
        (
            own({**FILES, "tokenizer.json": {"size": 5, "hash": "d" * 64}}),
            "node1: /models/m/tokenizer.json differs from that of node0: expected no such file, got 5 bytes "
            "with hash dddddddddddd; copy the model from node0 to node1",
        ),
        (
            own(reason="[Errno 13] Permission denied: '/models/m'"),
            "node1: the weights in /models/m cannot be read ([Errno 13] Permission denied: '/models/m'); "
            "expected a folder or a file that this user may read, correct its permissions on node1",
        ),
        (
            own(missing={"model.safetensors.index.json": ["a", "b", "c", "d"]}),
            "node1: /models/m is not whole: model.safetensors.index.json names a, b, c and 1 more, got no "
            "such file; copy the model to node1 again",
        ),
        (
            own(broken={"model.safetensors": [5_000_000, 4_000_000]}),
            "node1: /models/m/model.safetensors is damaged: expected 5,000,000 bytes by its header, got "
            "4,000,000 bytes; copy it to node1 again",
        ),
        (
            own(broken={"model.safetensors": [None, 130]}),
            "node1: /models/m/model.safetensors is damaged: expected a safetensors header by its header, got "
            "130 bytes; copy it to node1 again",
        ),
    ],
)
def test_one_host_differs(other: dict[str, Any], problem: str) -> None:
    assert problems(node0=own(), node1=other) == [problem]


def test_a_folder_that_is_no_model() -> None:
    assert problems(node0=own({})) == [
        "node0: /models/m has no config.json, expected the folder of a model; correct vllm_server_model or "
        "copy the model to node0",
        "node0: /models/m has no weights, expected files that end in .safetensors, .bin, .pt, .gguf; copy "
        "the model to node0",
    ]


def test_a_host_without_weights_is_not_compared_file_by_file() -> None:
    assert [each.partition(",")[0] for each in problems(node0=own(), node1=own({}))] == [
        "node1: /models/m has no config.json",
        "node1: /models/m has no weights",
    ]


def test_the_usual_content_wins_over_the_head() -> None:
    odd = own({**FILES, "config.json": {"size": 1, "hash": "e" * 64}})
    said = problems(node0=odd, node1=own(), node2=own())
    assert [each.partition(":")[0] for each in said] == ["node0"]


def test_an_index() -> None:
    index = {"weight_map": {"x": "b.safetensors", "y": "a.safetensors", "z": "b.safetensors"}}
    assert _weights.shards(json.dumps(index)) == ["a.safetensors", "b.safetensors"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"weight_map": 1}', '{"weight_map": [1]}'])
def test_what_is_no_index(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        _weights.shards(text)


def test_the_size_by_the_header() -> None:
    header = json.dumps(
        {"__metadata__": {}, "x": {"data_offsets": [0, 10]}, "y": {"data_offsets": [10, 30]}}
    )
    assert _weights.safetensors_size(header.encode()) == 8 + len(header) + 30


@pytest.mark.parametrize("header", [b"", b"{", b"[]", b'{"x": 1}', b'{"x": {"data_offsets": []}}'])
def test_what_is_no_header(header: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        _weights.safetensors_size(header)


MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
31 22 0:44 / /models rw,relatime shared:2 - nfs4 server:/export/models rw,vers=4.2
32 22 0:45 /sub /data rw - lustre 10.0.0.1@o2ib:/fs rw
33 31 8:2 / /models/local rw - xfs /dev/sdb1 rw
34 22 0:46 / /shadow rw - nfs4 server:/shadow rw
35 22 8:3 / /shadow rw - ext4 /dev/sdc1 rw
36 22 0:47 / /shared rw - 9p shared rw
"""


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/models/m", "nfs4 server:/export/models/m"),
        ("/models", "nfs4 server:/export/models"),
        ("/data/m", "lustre 10.0.0.1@o2ib:/fs/sub/m"),
        ("/models/local/m", None),
        ("/models2/m", None),
        ("/srv/m", None),
        ("/shadow/m", None),
        ("/shared/m", None),
    ],
)
def test_a_place_on_a_network_file_system(path: str, place: str | None) -> None:
    assert _weights.network_mount(MOUNTS, path) == place


def test_a_network_file_system_at_the_root() -> None:
    assert _weights.network_mount("22 1 0:3 / / rw - nfs s:/root rw\n", "/m") == "nfs s:/root/m"
    assert _weights.network_mount("", "/m") is None
