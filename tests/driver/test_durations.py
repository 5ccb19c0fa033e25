# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""How long phases took, kept for the next run."""

from __future__ import annotations

from pathlib import Path

import pytest

from samewire import durations
from samewire.events import Phase


def test_what_changed_nothing_does_not_tell_what_a_change_takes(tmp_path: Path) -> None:
    assert durations.read(tmp_path) == {}
    durations.keep(tmp_path, [Phase("Pull", 0.0, 40.0, changed=2), Phase("Prove", 40.0, 41.5)])
    durations.keep(tmp_path, [Phase("Pull", 0.0, 2.0), Phase("Start", 2.0, 4.0, changed=1)])
    durations.keep(tmp_path, [Phase("Pull", 0.0, 30.0, changed=1)])
    assert durations.read(tmp_path) == {"Pull": 30.0, "Prove": 1.5, "Start": 2.0}


@pytest.mark.parametrize("kept", ["", "{", "[]", '{"Pull": "long"}', '{"Pull": null}'])
def test_what_is_kept_is_not_usable(tmp_path: Path, kept: str) -> None:
    (tmp_path / durations.FILE).write_text(kept)
    assert durations.read(tmp_path) == {}
