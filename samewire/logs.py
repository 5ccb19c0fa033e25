# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Lines of containers: how Docker is asked for them, what they say, and their order over all hosts."""

from __future__ import annotations

import heapq
import re
import shlex
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from queue import Empty, Queue
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _kept, _log_events, _redaction

# How long a line waits for an earlier one of another host.
WINDOW_S = 0.5

_STAMPED = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) ?(.*)", re.DOTALL
)
_DURATION = re.compile(r"(?:\d+[hms])+")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?")
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")


@dataclass(frozen=True)
class Wish:
    """Which lines are wanted: the last of each container, those since a time, those to come."""

    tail: int | None = None
    since: str = ""
    follow: bool = False

    def options(self) -> list[str]:
        """Return the options of `docker logs`."""
        return [
            "--timestamps",
            *(["--follow"] if self.follow else []),
            *([f"--tail={self.tail}"] if self.tail is not None else []),
            *([f"--since={self.since}"] if self.since else []),
        ]


@dataclass(frozen=True, order=True)
class Line:
    """A line of a container; time: in UTC, as RFC 3339 writes it. rank: None where the line says none."""

    time: str
    host: str
    container: str
    rank: int | None = field(compare=False)
    text: str = field(compare=False)

    def to_json(self) -> dict[str, Any]:
        """Return it as an object."""
        return asdict(self)


def is_since(text: str) -> bool:
    """Tell whether Docker takes a text as the time from which on lines are wanted."""
    return bool(_DURATION.fullmatch(text) or _MOMENT.fullmatch(text))


def list_script(cluster: str) -> str:
    """Return what lists the containers of a cluster on a host."""
    label = f"label=samewire.cluster={cluster}"
    return "exec " + shlex.join(
        ["docker", "ps", "--all", "--filter", label, "--format", "{{.Names}}"]
    )


def listed(said: str) -> list[str]:
    """Return the names of the containers, without those that a deployment keeps of before."""
    return sorted(name for name in said.split() if not _kept.is_before(name))


def log_script(container: str, wish: Wish) -> str:
    """Return what prints the lines of a container, those of both of its outputs in their order.

    The first line is empty: by that one knows that the host is there. Who follows ends with its input, since
    nothing else tells a quiet program that ssh is gone.
    """
    docker = f"{shlex.join(['docker', 'logs', *wish.options(), '--', container])} 2>&1"
    if not wish.follow:
        return f"echo; exec {docker}"
    return (
        f"echo; exec 3<&0; {docker} & logs=$!; {{ cat <&3; kill $logs; }} >/dev/null 2>&1 & "
        "wait $logs"
    )


class Reader:
    """Makes lines of what a container says, without secrets and without what steers a terminal."""

    def __init__(self, host: str, container: str, secrets: Iterable[str] = ()) -> None:
        self._host = host
        self._container = container
        self._secrets = list(secrets)
        self._in_key = False

    def __call__(self, raw: str) -> Line | None:
        """Return the line, None for one that is not of the container."""
        found = _STAMPED.match(raw.rstrip("\n"))
        if found is None:
            return None
        # A bar of progress writes over itself; its last state counts.
        text = _ESCAPE.sub("", found[2].rstrip("\r").rpartition("\r")[2])
        text = self._discreet(_CONTROL.sub("", text))
        rank = _log_events.parse("", 0, text).rank
        return Line(_in_utc(found[1]), self._host, self._container, rank, text)

    def _discreet(self, text: str) -> str:
        if self._in_key:
            self._in_key = "-----END" not in text
            return _redaction.HIDDEN
        begins = _KEY_BEGINS.search(text)
        self._in_key = begins is not None and "-----END" not in text
        return _redaction.redacted(text, self._secrets)


def _in_utc(stamp: str) -> str:
    if stamp.endswith("Z"):
        return stamp
    return datetime.fromisoformat(stamp).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def merged(sources: Iterable[Iterable[Line]]) -> Iterator[Line]:
    """Yield the lines of all sources by time, until all have ended."""
    yield from heapq.merge(*sources)


def as_they_come(
    inbox: Queue[Line | None], sources: int, clock: Callable[[], float] = time.monotonic
) -> Iterator[Line]:
    """Yield the lines that many sources put into an inbox, each after a moment for earlier ones of others.

    A source puts None once it is connected; until all are, no line is older than another.
    """
    waiting: list[tuple[Line, float]] = []
    last = 0.0
    while True:
        until_due = (
            max(waiting[0][1], last) + WINDOW_S - clock() if waiting and not sources else None
        )
        if until_due is not None and until_due <= 0:
            yield heapq.heappop(waiting)[0]
            continue
        try:
            # Without an end a wait on a queue cannot be interrupted on every system.
            line = inbox.get(timeout=1.0 if until_due is None else until_due)
        except Empty:
            continue
        if line is None:
            sources, last = sources - 1, clock()
        else:
            heapq.heappush(waiting, (line, clock()))
