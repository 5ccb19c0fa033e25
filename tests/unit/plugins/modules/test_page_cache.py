# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The page cache is dropped where that may be done, and nothing fails where not."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.samewire.vllm.plugins.modules import page_cache
from tests.unit.modules import run_module


def test_check_mode_drops_nothing() -> None:
    found = run_module("page_cache", check=True)
    assert (found["changed"], found["freed"], found["reason"]) == (False, 0, "")


def test_it_is_asked_for(tmp_path: Path) -> None:
    switch = tmp_path / "drop_caches"
    found = page_cache.drop(str(switch))
    assert switch.read_text() == "3"
    assert found["reason"] == ""
    assert isinstance(found["freed"], int)


def test_without_the_right_to_it(tmp_path: Path) -> None:
    assert page_cache.drop(str(tmp_path)) == {"freed": 0, "reason": "Is a directory"}
