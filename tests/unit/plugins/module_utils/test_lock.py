# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Who may take a lock, what a lease says, and the sentence of a refusal."""

from __future__ import annotations

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _lock

ME = _lock.Holder("ana", "laptop", 4711, "100", "boot pid:[1]")
OTHER = _lock.Holder("ben", "desk", 12, "200", "boot2 pid:[1]")
# 2026-11-30 13:00:00 UTC
NOW = 1_796_043_600.0


@pytest.mark.parametrize(
    ("held", "dead", "free"),
    [
        (None, None, True),
        (_lock.Lease(ME, NOW - 10, NOW + 10), None, True),
        (_lock.Lease(OTHER, NOW - 10, NOW + 10), None, False),
        (_lock.Lease(OTHER, NOW - 10, NOW), None, True),
        (_lock.Lease(OTHER, NOW - 10, NOW + 10), OTHER, True),
        (
            _lock.Lease(OTHER, NOW - 10, NOW + 10),
            _lock.Holder("ben", "desk", 12, "199", "boot2 pid:[1]"),
            False,
        ),
    ],
    ids=["nobody", "mine", "other", "over", "dead", "another process of that pid"],
)
def test_is_free(held: _lock.Lease | None, dead: _lock.Holder | None, free: bool) -> None:
    assert _lock.is_free(held, ME, NOW, dead) is free


def test_a_lease_of_mine_goes_on() -> None:
    first = _lock.taken(None, ME, NOW, 60)
    assert first == _lock.Lease(ME, NOW, NOW + 60)
    assert _lock.taken(first, ME, NOW + 50, 60) == _lock.Lease(ME, NOW, NOW + 110)


def test_who_takes_a_lease_over_begins_anew() -> None:
    before = _lock.Lease(OTHER, NOW - 100, NOW - 1)
    assert _lock.taken(before, ME, NOW, 60) == _lock.Lease(ME, NOW, NOW + 60)


def test_a_lease_survives_its_text() -> None:
    lease = _lock.Lease(ME, NOW, NOW + 60.5)
    assert _lock.parse(lease.render()) == lease


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"holder": {"user": "a"}}', "null", "1"])
def test_a_file_that_holds_no_lease(text: str) -> None:
    assert _lock.parse(text) is None


def test_refusal() -> None:
    assert _lock.refusal("spark0", "pair", _lock.Lease(OTHER, NOW, NOW + 900)) == (
        "spark0: cluster pair is being changed by ben@desk (pid 12) since 2026-11-30 13:00:00 UTC, expected "
        "nobody; wait for the end of that run, which counts as dead at 2026-11-30 13:15:00 UTC, or add "
        "-e lock_take_over=true if it is gone"
    )
