# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Find the first cause of a failure in logs of vLLM, Ray, PyTorch, Gloo, NCCL, CUDA and Docker."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any, Optional

from . import _signatures_host, _signatures_ray, _signatures_vllm, _signatures_wire
from ._log_events import LONGEST, Event, parse
from ._signatures import CAUSE, CONFIDENCE, CONSEQUENCE, HINT, READY, Rule, Signature
from ._signatures_marks import MARKS

RULES: tuple[Rule, ...] = (
    *_signatures_host.RULES,
    *_signatures_wire.RULES,
    *_signatures_ray.RULES,
    *_signatures_vllm.RULES,
)

# Lines are taken in blocks of this many bytes; a longer line is cut into lines.
_BLOCK = 1 << 20
# How far the rest of a message may be, how many lines prove a finding, and how much of each is shown.
_WINDOW = 32
_EVIDENCE = 3
_SHOWN = 300
# Lines that differ in numbers only are passed over after so many that matched nothing, and a signature
# is given up in a file after so many lines that held its needle in vain.
_PATIENCE = 1_000
_TRIES = 10_000
_PATTERNS = 100_000
# Letters in lower case and line ends stay; the rest, digits too, becomes space: lines become words.
_FOLD = bytes(
    each if each == 10 or 97 <= each <= 122 else each + 32 if 65 <= each <= 90 else 32
    for each in range(256)
)


@dataclass(frozen=True)
class Finding:
    """A fault that the logs betray, with the lines that do; confidence: high, medium or low."""

    rule: Rule
    confidence: str
    evidence: tuple[Event, ...]


_Found = tuple[Finding, int, Optional[str], tuple[int, int]]


@dataclass(frozen=True)
class _Entry:
    """A signature in the index. words: of its needle; quick: its pattern may be tried on the raw line."""

    number: int
    signature: Signature
    words: frozenset[bytes]
    pattern: re.Pattern[str] | None
    quick: bool
    mark: str
    overcome_by: tuple[str, ...]

    def matches(self, text: str) -> bool:
        """Whether the message is this one."""
        found = self.pattern and self.pattern.search(text)
        if self.signature.less and found:
            smaller, larger = self.signature.less
            return int(found[smaller]) < int(found[larger])
        return not self.pattern or bool(found)

    def may_match(self, line: str) -> bool:
        """Whether parsing the line, which costs more, may lead to a match."""
        # In Docker's log files quotes and line ends are escaped.
        return (
            not (self.pattern and self.quick)
            or line.startswith("{")
            or self.pattern.search(line) is not None
        )


@dataclass
class _Hits:
    order: tuple[int, int]
    events: list[Event] = field(default_factory=list)


@dataclass
class _Reading:
    """The state of one file. hits: by entry; alike: lines since a match by template; vain: by entry."""

    file: str
    place: int
    hits: dict[int, _Hits] = field(default_factory=dict)
    alike: Counter[int] = field(default_factory=Counter)
    vain: Counter[int] = field(default_factory=Counter)

    def forget(self, overcome_by: str) -> None:
        """Forget what a mark says is overcome."""
        self.hits = {
            key: each
            for key, each in self.hits.items()
            if overcome_by not in _ENTRIES[key].overcome_by
        }


def _entries() -> Iterator[_Entry]:
    owned = chain(
        ((each, "", rule.overcome_by) for rule in RULES for each in rule.signatures),
        ((each, mark, ()) for mark, signatures in MARKS.items() for each in signatures),
    )
    for number, (signature, mark, overcome_by) in enumerate(owned):
        text = signature.pattern
        yield _Entry(
            number=number,
            signature=signature,
            words=frozenset(signature.needle.encode().translate(_FOLD).split()),
            pattern=re.compile(text, re.IGNORECASE | re.DOTALL) if text else None,
            quick=signature.lines == 1 and not text.startswith("^"),
            mark=mark,
            overcome_by=() if signature.lasting else overcome_by,
        )


_ENTRIES = tuple(_entries())
# By the longest word of the needle, which is the rarest as a rule.
_BY_WORD: dict[bytes, list[_Entry]] = {}
for _each in _ENTRIES:
    _BY_WORD.setdefault(max(sorted(_each.words), key=len), []).append(_each)
_WORDS = frozenset(_BY_WORD)
_OVERCOMING = frozenset(chain.from_iterable(rule.overcome_by for rule in RULES))


class Diagnosis:
    """Reads logs one after the other in constant memory; `findings` may be asked at any time."""

    def __init__(self) -> None:
        """Start with nothing read."""
        self._hits: dict[int, _Hits] = {}
        self._marks: set[str] = set()
        self._files = 0

    def read(self, file: str, pieces: Iterable[bytes]) -> None:
        """Read a log in pieces of any size; file: how evidence names it."""
        self._files += 1
        reading = _Reading(file, self._files)
        for number, template, entries, window in self._interesting(pieces, reading):
            if len(reading.alike) > _PATTERNS:
                reading.alike.clear()
            reading.alike[hash(template)] += 1
            line = _text(window[0])
            lowered = line.lower()
            event: Event | None = None
            for entry in entries:
                if entry.signature.needle not in lowered:
                    continue
                reading.vain[entry.number] += 1
                if not entry.may_match(line):
                    continue
                event = event or parse(file, number, line)
                text = _joined(event, window[1:], entry.signature.lines)
                if not entry.matches(text):
                    continue
                reading.vain[entry.number] = reading.alike[hash(template)] = 0
                self._note(entry, replace(event, text=text.replace("\n", " ")[:_SHOWN]), reading)
        for key, hits in reading.hits.items():
            known = self._hits.setdefault(key, _Hits(hits.order))
            known.events += hits.events[: _EVIDENCE - len(known.events)]

    def _note(self, entry: _Entry, event: Event, reading: _Reading) -> None:
        if entry.mark:
            self._marks.add(entry.mark)
            reading.forget(entry.mark)
        else:
            order = (reading.place, event.line)
            reading.hits.setdefault(entry.number, _Hits(order)).events.append(event)

    def findings(self) -> list[Finding]:
        """Return what was found, the first cause first; empty for healthy logs."""
        found: list[_Found] = []
        entries = iter(_ENTRIES)
        for rule in RULES:
            usable = [
                (entry.signature.strength, self._hits[entry.number])
                for entry in islice(entries, len(rule.signatures))
                if entry.number in self._hits and self._holds(entry.signature)
            ]
            if not usable:
                continue
            usable.sort(key=lambda each: (-each[0], each[1].order))
            strength, first = usable[0]
            events = {
                (event.file, event.line): event
                for _unused, hits in reversed(usable)
                for event in hits.events
            }
            shown = sorted(events.values(), key=lambda event: event not in first.events)[:_EVIDENCE]
            finding = Finding(rule, CONFIDENCE[strength], tuple(shown))
            found.append((finding, strength, first.events[0].time, first.order))
        return _ranked(found)

    def _holds(self, signature: Signature) -> bool:
        if not self._marks.issuperset(signature.needs) or self._marks.intersection(
            signature.without
        ):
            return False
        return signature.strength > HINT or READY not in self._marks

    def _interesting(
        self, pieces: Iterable[bytes], reading: _Reading
    ) -> Iterator[tuple[int, bytes, list[_Entry], list[bytes]]]:
        """Yield each line that may matter: number, words, signatures to try, itself and what follows."""
        number = 0
        for block, following in _with_next(_blocks(pieces)):
            templates = block.translate(_FOLD).split(b"\n")
            hot = {
                each: entries
                for each in set(templates)
                if reading.alike[hash(each)] < _PATIENCE
                and (entries := _candidates(each))
                and any(self._open(entry, reading) for entry in entries)
            }
            if hot:
                lines = block.split(b"\n")
                after = following.split(b"\n", _WINDOW)[:_WINDOW]
                for place, template in enumerate(templates):
                    if template not in hot or reading.alike[hash(template)] >= _PATIENCE:
                        continue
                    entries = [each for each in hot[template] if self._open(each, reading)]
                    if entries:
                        window = lines[place : place + _WINDOW]
                        window += after[: _WINDOW - len(window)]
                        yield number + place + 1, template, entries, window
            number += len(templates)

    def _open(self, entry: _Entry, reading: _Reading) -> bool:
        """Whether another match would tell anything new, and is still to be hoped for."""
        if entry.mark in _OVERCOMING:
            return True
        if reading.vain[entry.number] >= _TRIES or entry.mark in self._marks:
            return False
        hits = reading.hits.get(entry.number)
        return hits is None or len(hits.events) < _EVIDENCE


def _candidates(template: bytes) -> list[_Entry]:
    words = set(template.split())
    return [
        entry
        for word in _WORDS.intersection(words)
        for entry in _BY_WORD[word]
        if entry.words <= words
    ]


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Cut pieces at line ends, without the last of each block."""
    rest = b""
    for piece in pieces:
        rest += piece
        if len(rest) < _BLOCK:
            continue
        whole, end, tail = rest.rpartition(b"\n")
        if end:
            yield whole
            rest = tail
        else:
            yield rest
            rest = b""
    if rest:
        yield rest[:-1] if rest.endswith(b"\n") else rest


def _with_next(blocks: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    current: bytes | None = None
    for following in blocks:
        if current is not None:
            yield current, following
        current = following
    if current is not None:
        yield current, b""


def diagnose(logs: Iterable[tuple[str, str]]) -> list[Finding]:
    """Diagnose logs, given as name and text; the result is ranked, its first finding the cause."""
    diagnosis = Diagnosis()
    for file, text in logs:
        diagnosis.read(file, [text.encode()])
    return diagnosis.findings()


def to_json(findings: Iterable[Finding]) -> dict[str, Any]:
    """Return the findings as the contract of `samewire diagnose --json` has them."""
    listed = list(findings)
    return {
        "schema": "samewire.diagnosis/1",
        "primary": listed[0].rule.id if listed else None,
        "findings": [
            {
                "id": each.rule.id,
                "layer": each.rule.layer,
                "cause": each.rule.cause,
                "remedy": each.rule.remedy,
                "variable": each.rule.variable or None,
                "link": each.rule.link,
                "confidence": each.confidence,
                "evidence": [
                    {
                        "file": event.file,
                        "line": event.line,
                        "text": event.text,
                        "host": event.host,
                        "rank": event.rank,
                    }
                    for event in each.evidence
                ],
            }
            for each in listed
        ],
    }


def _text(raw: bytes) -> str:
    return raw[:LONGEST].decode("utf-8", "replace")


def _joined(event: Event, following: list[bytes], most: int) -> str:
    """Join the event's text with what its own process, or nobody in particular, says next."""
    texts = [event.text]
    for raw in following:
        if len(texts) >= most:
            break
        after = parse(event.file, event.line, _text(raw))
        if event.process.startswith(after.process):
            texts.append(after.text)
    return "\n".join(texts)


def _ranked(found: list[_Found]) -> list[Finding]:
    """Order by: own fault before echo, sure cause before sure symptom before hints, earlier before later."""
    timed = all(time for _finding, _strength, time, _order in found)
    sure = [finding.rule for finding, strength, _time, _order in found if strength > HINT]

    def key(item: _Found) -> tuple[bool, bool, float, str, tuple[int, int]]:
        finding, strength, time, order = item
        rule = finding.rule
        echo = any(rule.id in other.explains for other in sure)
        weight = strength + (1.5 if rule.role == CAUSE else 0)
        return (rule.role == CONSEQUENCE, echo, -weight, (timed and time) or "", order)

    return [finding for finding, _strength, _time, _order in sorted(found, key=key)]
