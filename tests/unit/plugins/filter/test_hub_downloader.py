# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the hosts got from the hub to who downloads."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter.hub_downloader import hub_downloader
from tests.unit.plugins.module_utils.test_hub import ANSWERED, SILENT


def test_it_is_handed_on() -> None:
    files = {"a.safetensors": {"size": 4}, "a.bin": {"size": 4}, "original/a.bin": {"size": 4}}
    answers = {"a": {**ANSWERED, "files": files, "config": {"x": 1}}, "head": SILENT}
    asked = {"model": "o/m", "endpoint": "https://hub", "head": "head"}
    found = hub_downloader(answers, **asked, exclude=["original/*"])
    assert found["exclude"][:2] == ["original/*", "*.bin"]
    assert found == {
        "host": "a",
        "problems": [],
        "exclude": found["exclude"],
        "files": {"a.safetensors": {"size": 4}},
        "config": {"x": 1},
    }
    nobody = hub_downloader(answers, **asked, pinned="b")
    assert (nobody["host"], nobody["files"], len(nobody["problems"])) == (None, {}, 1)
