# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""How far a starting vLLM has come, read from the lines that it prints.

Source of the lines: vLLM 0.17 to 0.32 (ray_utils.py, parallel_state.py, weight_utils.py,
gpu_model_runner.py, kv_cache_utils.py, core.py) and Ray 2.40 to 2.60 (worker.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from . import _log_events


@dataclass(frozen=True)
class Progress:
    """How far a start has come.

    phase: one of PHASES; fraction: of this phase, 0 to 1, or None; detail: for a person, as
    `12/39, 01:20 left`; ranks: the last phase in which each rank was seen, by rank.
    """

    phase: str = "starting"
    fraction: float | None = None
    detail: str = ""
    ranks: dict[int, str] = field(default_factory=dict)

    def text(self) -> str:
        """Return the progress as one short line."""
        return f"{self.phase} {self.detail}".strip()


@dataclass(frozen=True)
class _Mark:
    """A line that shows that a phase began, or how far it is."""

    phase: str
    pattern: re.Pattern[str]


def _mark(phase: str, pattern: str) -> _Mark:
    return _Mark(phase, re.compile(pattern))


# In the order in which vLLM passes them. Named groups: done, all (counts), left (time), rank, percent.
_MARKS = (
    _mark("waiting for the nodes", r"samewire: waiting for the planned nodes: (?P<detail>.*)"),
    _mark(
        "starting the API server",
        r"samewire: (?:Ray has exactly the planned nodes|all planned nodes are there)",
    ),
    _mark("reading the model's configuration", r"non-default args|Resolved architecture"),
    _mark("starting the engine", r"Initializing a V1 LLM engine"),
    _mark("connecting to Ray", r"Connecting to existing Ray cluster"),
    _mark(
        "placing the ranks",
        r"Creating a new placement group"
        r"|Waiting for creating a placement group.*?(?P<detail>for \d+ seconds)",
    ),
    _mark("joining the ranks", r"world_size=(?P<all>\d+) rank=(?P<rank>\d+)"),
    _mark("loading weights", r"Starting to load model"),
    _mark(
        "loading weights",
        r"Loading (?:safetensors|pt|bin) checkpoint shards:\s+\d+% Completed \| "
        r"(?P<done>\d+)/(?P<all>\d+) \[[\d:?]+<(?P<left>[\d:?]+)",
    ),
    _mark("weights loaded", r"Loading weights took"),
    _mark("compiling", r"Dynamo bytecode transform|Compiling a graph|torch\.compile takes"),
    _mark("sizing the KV cache", r"KV cache size|GPU blocks|Explicitly set .* for KV cache"),
    _mark("capturing CUDA graphs", r"Capturing CUDA graph.*?(?P<percent>\d+)%|Graph capturing"),
    _mark("warming up", r"init engine \(profile, create kv cache, warmup model\) took"),
    _mark("opening the API", r"Starting vLLM (?:API )?server"),
    _mark("ready", r"Application startup complete"),
)

PHASES = tuple(dict.fromkeys(["starting", *(mark.phase for mark in _MARKS)]))
_ORDER = {phase: number for number, phase in enumerate(PHASES)}


def follow(lines: Iterable[str], progress: Progress | None = None) -> Progress:
    """Return the progress after more lines; a phase is never left for an earlier one."""
    progress = progress or Progress()
    for number, line in enumerate(lines):
        event = _log_events.parse("", number, line)
        for mark in _MARKS:
            found = mark.pattern.search(event.text)
            if found:
                progress = _advanced(progress, mark.phase, found, event.rank)
    return progress


def _advanced(progress: Progress, phase: str, found: re.Match[str], rank: int | None) -> Progress:
    groups = {name: text for name, text in found.groupdict().items() if text is not None}
    rank = int(groups["rank"]) if "rank" in groups else rank
    if rank is not None and _ORDER[phase] >= _ORDER[progress.ranks.get(rank, "starting")]:
        progress = replace(progress, ranks={**progress.ranks, rank: phase})
    if _ORDER[phase] < _ORDER[progress.phase]:
        return progress
    return replace(
        progress,
        phase=phase,
        fraction=_fraction(groups),
        detail=_detail(groups, progress.ranks),
    )


def _fraction(groups: dict[str, str]) -> float | None:
    if "percent" in groups:
        return int(groups["percent"]) / 100
    if "done" in groups and int(groups["all"]):
        return int(groups["done"]) / int(groups["all"])
    return None


def _detail(groups: dict[str, str], ranks: dict[int, str]) -> str:
    if "rank" in groups:
        return f"{len(ranks)}/{groups['all']}"
    if "done" in groups:
        left = f", {groups['left']} left" if "?" not in groups["left"] else ""
        return f"{groups['done']}/{groups['all']}{left}"
    if "percent" in groups:
        return f"{groups['percent']}%"
    return groups.get("detail", "")


def standing(progress: Progress) -> str:
    """Return where each rank stands, ranks in one phase together, as `rank 0: ...; rank 1: ...`."""
    phases: dict[str, list[int]] = {}
    for rank, phase in sorted(progress.ranks.items()):
        phases.setdefault(phase, []).append(rank)
    return "; ".join(
        f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}: {phase}"
        for phase, ranks in phases.items()
    )


def joined(progress: Progress) -> bool:
    """Return whether the ranks have found each other, so that what follows may be slow and silent."""
    return _ORDER[progress.phase] > _ORDER["joining the ranks"]
