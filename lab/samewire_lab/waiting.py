# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Bounded waiting for a condition."""

import time
from collections.abc import Callable
from typing import TypeVar

from samewire_lab.errors import LabError

Value = TypeVar("Value")
PAUSE = 0.2  # seconds between two looks


def wait_for(condition: Callable[[], Value | None], seconds: float, failure: str) -> Value:
    """Return the condition's value once it is true; LabError when it is not within `seconds`.

    `failure` is the sentence's begin: "Docker Engine on node0 did not answer".
    """
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise LabError(f"{failure} within {seconds:g} s.")
        time.sleep(PAUSE)
    return value
