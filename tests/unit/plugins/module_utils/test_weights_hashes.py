# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Hashes that are computed once for each state of a file."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, replace

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _weights_hashes


@dataclass(frozen=True)
class Stat:
    st_size: int = 3
    st_mtime_ns: int = 1_700_000_000_000_000_001
    st_ino: int = 7


def test_a_stream_of_several_chunks() -> None:
    content = bytes(20 << 20)
    assert _weights_hashes.sha256(io.BytesIO(content)) == hashlib.sha256(content).hexdigest()


def test_a_hash_is_known_while_the_file_is_the_same() -> None:
    known = _weights_hashes.Hashes()
    assert known.get("/m/a", Stat()) is None
    known.keep("/m/a", Stat(), "f00")
    again = _weights_hashes.Hashes(known.text())
    assert again.get("/m/a", Stat()) == "f00"
    assert again.get("/m/b", Stat()) is None


@pytest.mark.parametrize("other", [{"st_size": 4}, {"st_mtime_ns": 1}, {"st_ino": 8}])
def test_another_state_is_computed_anew(other: dict[str, int]) -> None:
    known = _weights_hashes.Hashes()
    known.keep("/m/a", Stat(), "f00")
    assert known.get("/m/a", replace(Stat(), **other)) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"/m/a": 1}', '{"/m/a": [3, 1]}', "null"])
def test_a_file_of_another_form_counts_as_nothing(text: str) -> None:
    assert _weights_hashes.Hashes(text).get("/m/a", Stat()) is None
