# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Waiting ends with the condition's value or with one sentence."""

import pytest

from samewire_lab import waiting
from samewire_lab.errors import LabError


def test_the_value_is_returned_once_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PAUSE", 0)
    answers = iter([None, None, "ready"])
    assert waiting.wait_for(lambda: next(answers), 10, "unused") == "ready"


def test_the_time_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PAUSE", 0)
    with pytest.raises(LabError, match=r"^node0 did not answer within 0\.01 s\.$"):
        waiting.wait_for(lambda: False, 0.01, "node0 did not answer")
