# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the hosts got from the hub to who downloads."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter.hub_downloader import hub_downloader


def test_it_is_handed_on() -> None:
    answers = {"a": {"status": 200}, "head": {"status": -1, "msg": "m"}}
    asked = {"model": "o/m", "endpoint": "https://hub", "head": "head"}
    assert hub_downloader(answers, **asked) == {"host": "a", "problems": []}
    assert hub_downloader(answers, **asked, pinned="b") == {
        "host": None,
        "problems": [
            "model_weights_downloader is b, expected one of a, head; correct it in the inventory"
        ],
    }
