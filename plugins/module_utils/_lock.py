# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Who may change a cluster: one run at a time, by a lease that is written on the head's host.

A run has no process on the host that would end with it, so a lease ends by itself, unless its run renews it.
All times are of the host's own clock, so that controllers need not agree on the time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any


@dataclass(frozen=True)
class Holder:
    """One run of Ansible.

    controller: name of the host that runs it; pid, started: its process, and when that began as its kernel
    counts; space: where the pid means something, a boot and a namespace of processes, empty where unknown.
    """

    user: str
    controller: str
    pid: int
    started: str = ""
    space: str = ""

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Holder:
        """Read a holder from JSON; raise KeyError or ValueError where it is none."""
        return cls(
            user=str(raw["user"]),
            controller=str(raw["controller"]),
            pid=int(raw["pid"]),
            started=str(raw.get("started", "")),
            space=str(raw.get("space", "")),
        )


@dataclass(frozen=True)
class Lease:
    """A lock that is held; since, until: seconds since the epoch."""

    holder: Holder
    since: float
    until: float

    def render(self) -> str:
        """Return the lease as text, as parse takes it."""
        return json.dumps(asdict(self), sort_keys=True) + "\n"


def parse(text: str) -> Lease | None:
    """Return the lease that a file holds; None where it holds none, as after a crash while it was written."""
    try:
        raw = json.loads(text)
        return Lease(
            holder=Holder.parse(raw["holder"]),
            since=float(raw["since"]),
            until=float(raw["until"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


def is_free(held: Lease | None, me: Holder, now: float, dead: Holder | None = None) -> bool:
    """Return whether I may take a lock; dead: a holder that is known to be gone."""
    return held is None or held.holder in (me, dead) or now >= held.until


def taken(held: Lease | None, me: Holder, now: float, seconds: float) -> Lease:
    """Return my lease for so many seconds from now; it goes on where I hold it already."""
    mine = held is not None and held.holder == me
    return Lease(me, held.since if held is not None and mine else now, now + seconds)


def refusal(host: str, cluster: str, held: Lease) -> str:
    """Return why nobody else may change the cluster now; host: the one that holds the lock."""
    holder = held.holder
    return (
        f"{host}: cluster {cluster} is being changed by {holder.user}@{holder.controller} (pid {holder.pid}) "
        f"since {_time(held.since)}, expected nobody; wait for the end of that run, which counts as dead at "
        f"{_time(held.until)}, or add -e lock_take_over=true if it is gone"
    )


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
