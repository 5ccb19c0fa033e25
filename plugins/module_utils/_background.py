# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Work that goes on when a module has returned."""

from __future__ import annotations

import os
from collections.abc import Callable


def detached(work: Callable[[], object]) -> None:
    """Do the work in a process of its own, and return at once; what it raises is lost."""
    # Forked twice, so that Ansible neither waits for the child nor has to reap it.
    if os.fork():
        os.wait()
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    try:
        work()
    finally:
        # What the module registered for its own end belongs to the parent.
        os._exit(0)
