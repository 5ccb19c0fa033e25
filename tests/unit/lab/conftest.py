# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A state directory of its own for each test."""

from pathlib import Path

import pytest

from samewire_lab.state import State


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(tmp_path)
