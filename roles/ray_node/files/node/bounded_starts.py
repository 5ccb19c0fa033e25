# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Restrains a server that ends again and again: a growing pause before each start, and at last none.

Docker's own pause starts anew after each run of ten seconds, and a server that loads a model for minutes
before it ends would never be paused.
"""

from __future__ import annotations

import json
import pathlib
import signal
import sys
import time

# In the container's own layer: it outlives a restart, and not a new container.
STATE = pathlib.Path("/tmp/samewire-starts.json")
LIMIT = 10
# Whoever ran so many seconds was no part of a loop.
LASTING = 1800
SHORTEST, LONGEST = 10, 300


def series(starts, now):
    """Return the starts, in seconds, that belong to one loop with a start now."""
    return [] if starts and now - starts[-1] > LASTING else list(starts)


def pause(starts):
    """Return the seconds to wait before the next start, None where there shall be none."""
    if len(starts) >= LIMIT:
        return None
    # The first restart heals at once.
    return 0 if len(starts) < 2 else min(SHORTEST * 2 ** (len(starts) - 2), LONGEST)


def read(path):
    """Return the starts that the file holds; none where there is no such file."""
    try:
        return [float(each) for each in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError):
        return []


def give_up(path, starts, now):
    """Stay, and start nothing, until the container is stopped; a start after that begins anew."""

    def end(*_):
        path.unlink(missing_ok=True)
        sys.exit(0)

    signal.signal(signal.SIGTERM, end)
    print(
        f"samewire: gave up after {len(starts)} starts in {(now - starts[0]) / 60:.0f} min, each of which "
        "ended; the log above says why, and samewire restart begins anew",
        flush=True,
    )
    while True:
        signal.pause()


def restrain(path=STATE):
    """Return when the server may start."""
    now = time.time()
    starts = series(read(path), now)
    seconds = pause(starts)
    if seconds is None:
        give_up(path, starts, now)
    if seconds:
        print(f"samewire: start {len(starts) + 1} of {LIMIT}, in {seconds} s", flush=True)
        time.sleep(seconds)
    path.write_text(json.dumps([*starts, time.time()]), encoding="utf-8")
