# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The containers of a host, as a list for playbooks."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter.host_parts import host_parts


def test_a_list_for_playbooks() -> None:
    assert host_parts("ray", True) == ["ray", "vllm"]
    assert host_parts("mp", False) == ["vllm"]
