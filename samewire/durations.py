# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""How long the phases of a cluster took, kept beside its record: what the next run may expect."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from samewire.events import Phase

FILE = "durations.json"


def read(folder: Path) -> dict[str, float]:
    """Return seconds by title; nothing where nothing, or nothing usable, is kept."""
    try:
        kept = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return {str(title): float(took) for title, took in kept.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def keep(folder: Path, phases: Iterable[Phase]) -> None:
    """Keep what the phases of a run took; one that changed nothing does not tell what a change takes."""
    kept = read(folder)
    for phase in phases:
        if phase.changed or phase.title not in kept:
            kept[phase.title] = round(phase.seconds, 1)
    (folder / FILE).write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
