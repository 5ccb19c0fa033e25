# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and SIGTERM during a run: end ansible-playbook in order, so that it ends its workers."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupt:
    """What was asked for by signal; the pid of ansible-playbook is known once it reports."""

    def __init__(self) -> None:
        self.pid: int | None = None
        self._asked = 0

    @property
    def wanted(self) -> bool:
        return self._asked > 0

    def kill_now(self) -> bool:
        """Return whether to kill outright: asked twice, or before there was a pid to ask."""
        return self._asked > 1 or (self.wanted and self.pid is None)

    def handle(self, _signal: int, _frame: FrameType | None) -> None:
        self._asked += 1
        if self.pid is not None:
            # Ansible's workers have sessions of their own: only their parent reaches them all.
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)


@contextmanager
def interruptible() -> Iterator[Interrupt]:
    """Handle the signals within the block; to be used on the main thread."""
    interrupt = Interrupt()
    before = [signal.signal(number, interrupt.handle) for number in SIGNALS]
    try:
        yield interrupt
    finally:
        for number, handler in zip(SIGNALS, before, strict=True):
            signal.signal(number, handler)
