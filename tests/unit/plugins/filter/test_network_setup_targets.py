# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Whom a host must reach, as plain data."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter.network_setup_targets import (
    network_setup_targets,
)


def test_the_others_in_the_same_network() -> None:
    links = {
        "spark1": [{"interface": "a", "address": "10.9.0.1/24"}],
        "spark2": [
            {"interface": "b", "address": "10.9.0.2/24"},
            {"interface": "c", "address": "10.8.0.2/24"},
        ],
    }
    assert network_setup_targets(links, "spark1") == [
        {"host": "spark2", "address": "10.9.0.2", "interface": "a"}
    ]
    assert network_setup_targets(links, "spark2") == [
        {"host": "spark1", "address": "10.9.0.1", "interface": "b"}
    ]
