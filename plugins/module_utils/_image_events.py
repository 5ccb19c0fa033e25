# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""From what a Docker Engine says while it pulls or loads an image to how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _weights_plan

# What the engine says of a layer that needs nothing more; source: moby, distribution/xfer.
_DONE = frozenset({"Pull complete", "Already exists"})
_FETCHED = frozenset({"Download complete", "Verifying Checksum", "Extracting"})


class Progress:
    """How far the layers of one image are; the engine names each by its short id."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self._done: dict[str, int] = {}
        self._layers: dict[str, bool] = {}

    def add(self, event: Mapping[str, Any]) -> None:
        """Take in one event."""
        layer, status = event.get("id"), str(event.get("status", ""))
        # The first line names the tag as if it were a layer.
        if not layer or status.startswith("Pulling from"):
            return
        self._layers[layer] = status in _DONE
        detail = event.get("progressDetail") or {}
        if status == "Downloading" and "current" in detail:
            self._done[layer] = int(detail["current"])
            self._sizes[layer] = max(int(detail.get("total") or 0), self._done[layer])
        elif status in (_DONE | _FETCHED) and layer in self._sizes:
            self._done[layer] = self._sizes[layer]

    def text(self) -> str:
        """Return it for people, as "layers 5/12, 1.2 of 4.1 GB"; empty while nothing is known."""
        if not self._layers:
            return ""
        layers = f"layers {sum(self._layers.values())}/{len(self._layers)}"
        total = sum(self._sizes.values())
        if not total:
            return layers
        done = _weights_plan.amount(sum(self._done.values()))
        number, unit = _weights_plan.amount(total).split()
        return f"{layers}, {done.removesuffix(f' {unit}')} of {number} {unit}"


def sent(done: int, total: int | None, seconds: float) -> str:
    """Return how far a transfer is, as "1234/4100 MB at 95 MB/s"; total: None where it is not known."""
    arrived = done // 1_000_000
    expected = "" if total is None else f"/{max(total // 1_000_000, arrived, 1)}"
    rate = f" at {done / seconds / 1e6:.0f} MB/s" if seconds >= 1 else ""
    return f"{arrived}{expected} MB{rate}"
