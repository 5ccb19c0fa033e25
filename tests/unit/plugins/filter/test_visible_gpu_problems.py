# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The count may come from an inventory as text."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter.visible_gpu_problems import FilterModule


def test_a_count_as_text() -> None:
    judge = FilterModule().filters()["visible_gpu_problems"]
    seen = {"stdout": '{"gpus": 1, "mig": false, "reason": null}'}
    assert judge(seen, "node0", "1") == []
    assert len(judge(seen, "node0", "2")) == 1
