# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Addresses that have moved, from values as Ansible hands them over."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter import moved_addresses
from tests.unit.plans import plan


def test_moved_addresses_without_a_record() -> None:
    assert moved_addresses.moved_addresses(plan(), {}) == []
