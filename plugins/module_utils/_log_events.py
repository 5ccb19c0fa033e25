# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Turn a line of a log into an event: who said what, without the wrappings of Docker, Ray and vLLM."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

# Longer lines are cut: they are dumps of configurations, and messages stand at the start.
LONGEST = 8_192

_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_REPEATED = re.compile(r"\s*\[repeated (\d+)x across (?:cluster|all nodes)\].*$")
# `service-1  | ` of Compose; `2026-08-31T06:22:53.123Z stderr F ` of Docker's timestamps and of CRI.
_COLLECTOR = re.compile(
    r"^(?:[\w.-]+\s+\| )?(?P<iso>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\S*\s+(?:std(?:out|err) [FP] )?"
    r"|^[\w.-]+\s+\| "
)
# `(RayWorkerWrapper pid=1978, ip=10.41.0.8) `, `(EngineCore_DP0 pid=630) `, `(raylet, ip=10.19.0.7) `.
_PROCESS = re.compile(
    r"^\((?P<process>[^()]*?\bpid=\d+(?:, ip=[^)\s]+)?[^()]*|raylet(?:, ip=[^)\s]+)?)\) ?"
)
_ADDRESS = re.compile(r"\bip=([0-9a-fA-F.:]+)")
_RANK = re.compile(r"\[rank(\d+)\]:|\[Rank (\d+)\]|_TP(\d+)\b|\brank=\[?(\d+)")
_NCCL_HOST = re.compile(r"^([\w.-]+):\d+:\d+ \[\d+\] ")
# Python's loggers in vLLM and Ray: level, time, place; what follows is the message.
_LOGGER = re.compile(
    r"^(?:(?:INFO|WARNING|ERROR|DEBUG|CRITICAL) )?(?:\d{4}-)?(?P<day>\d\d-\d\d)[ T]"
    r"(?P<time>\d\d:\d\d:\d\d)\S*(?:\s+(?:INFO|WARNING|ERROR|DEBUG|CRITICAL))?"
    r"(?:\s+\[?[\w/.-]+\.py:\d+\]?)?(?:\s+--)?\s?"
)
_BRACKETED_TIME = re.compile(
    r"^\[(?:\d{4}-)?(?P<day>\d\d-\d\d)[ T](?P<time>\d\d:\d\d:\d\d)[^\]]*\] ?"
)


@dataclass(frozen=True)
class Event:
    """A line that a process wrote.

    line: number in its file, from 1. host: address or name, None where the line does not say.
    rank: of the process, None likewise. process: as Ray and vLLM call it. time: `MM-DD HH:MM:SS` in the
    clock of the writer. repeated: how often Ray saw the line.
    """

    file: str
    line: int
    text: str
    host: str | None = None
    rank: int | None = None
    process: str = ""
    time: str | None = None
    repeated: int = 1


# What an exception's last line begins with; those of the second row only pass another on.
_EXCEPTION = re.compile(
    r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt)\b(?:\([^)]*\))?:\s*\S"
)
_PASSED_ON = re.compile(
    r"ray::|RayTaskError|ActorDied|ActorHandleNotFound|Engine core initialization failed|RayActorError"
)


def first_exception(lines: Iterable[str]) -> str:
    """Return the first exception of a log that passes no other on, as `ValueError: ...`, or nothing."""
    for number, line in enumerate(lines):
        text = parse("", number, line).text.strip()
        if _EXCEPTION.match(text) and not _PASSED_ON.search(text):
            return text
    return ""


def parse(file: str, number: int, raw: str) -> Event:
    """Return the event of a raw line; text that no wrapping is known for stays as it is."""
    text, time = _unwrapped(raw.rstrip("\r\n")[:LONGEST])
    repeated = 1
    if folded := _REPEATED.search(text):
        text, repeated = text[: folded.start()], int(folded.group(1))
    names = []
    while found := _PROCESS.match(text):
        names.append(found.group("process"))
        text = text[found.end() :]
    process = " ".join(names)
    rank = _rank(process + " " + text) if "ank" in text or names else None
    host = _ADDRESS.search(process)
    if (found := _LOGGER.match(text)) or (found := _BRACKETED_TIME.match(text)):
        time = f"{found.group('day')} {found.group('time')}"
        if found.re is _LOGGER:
            text = text[found.end() :]
    writer = host or _NCCL_HOST.match(text)
    return Event(
        file, number, text.rstrip(), writer and writer.group(1), rank, process, time, repeated
    )


def _unwrapped(text: str) -> tuple[str, str | None]:
    time = None
    if text.startswith('{"log":'):
        try:
            entry = json.loads(text)
        except ValueError:
            entry = {}
        stamp = str(entry.get("time", ""))
        if len(stamp) > 18:
            time = f"{stamp[5:10]} {stamp[11:19]}"
        text = str(entry.get("log", text)).rstrip("\r\n")
    elif found := _COLLECTOR.match(text):
        if stamp := found.group("iso"):
            time = f"{stamp[5:10]} {stamp[11:19]}"
        text = text[found.end() :]
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    return text, time


def _rank(text: str) -> int | None:
    found = _RANK.search(text)
    return int(next(group for group in found.groups() if group)) if found else None
