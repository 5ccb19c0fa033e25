# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""How many GPUs a node announces."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter import node_gpus


def test_gpus_are_what_the_user_says_or_what_the_host_has() -> None:
    facts = {
        "a": {
            "interconnect_info": {
                "facts": {"gpus": [{"pci": "0000:01:00.0"}, {"pci": "0000:02:00.0"}]}
            }
        },
        "b": {"interconnect_info": {"facts": {"gpus": []}}},
    }
    assert node_gpus.node_gpus({"a": {}, "b": {"ray_node_gpus": 1}}, facts) == {"a": 2, "b": 1}
