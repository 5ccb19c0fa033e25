# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""How often a long task says how far it is."""

from __future__ import annotations

import pytest

from ansible_collections.samewire.vllm.plugins.plugin_utils import _pace


@pytest.mark.parametrize(("asked", "seconds"), [("1", 1.0), ("", 30.0), ("often", 30.0)])
def test_as_often_as_it_is_asked_for(
    asked: str, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAMEWIRE_PROGRESS_SECONDS", asked)
    assert _pace.seconds() == seconds
