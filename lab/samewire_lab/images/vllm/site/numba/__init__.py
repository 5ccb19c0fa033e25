# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Stand-in for numba: vLLM decorates its n-gram proposer at import time and the lab never runs it.

It saves 180 MB of compiler in an image that both hosts pull.
"""

from typing import Any

prange = range


def njit(*args: Any, **_options: Any) -> Any:
    """Return the decorated function as it is."""
    return args[0] if args and callable(args[0]) else lambda function: function


jit = njit


def get_num_threads() -> int:
    """Return 1: nothing is compiled, nothing runs in parallel."""
    return 1


def set_num_threads(_count: int) -> None:
    """Do nothing."""
