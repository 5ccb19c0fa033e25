# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The output is read from a container that ended well or badly."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter.image_problems import FilterModule


def test_the_output_of_both_ends() -> None:
    judge = FilterModule().filters()["image_problems"]
    good = 'samewire:versions {"python": "3.12.3", "ray": "2.60.0", "vllm": "0.32.0"}'
    asked = {
        "node0": {"container": {"Output": good}},
        "node1": {"failed": True, "msg": "no such file", "status": 127},
    }
    assert judge(asked, "i:1") == [
        "node1: image i:1 does not run its Python (no such file); expected an image for this host's "
        "processor that holds vLLM, correct container_image_name"
    ]
