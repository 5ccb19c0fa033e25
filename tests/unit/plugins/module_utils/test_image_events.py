# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What Docker says while it pulls or loads, as one line."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _image_events
from samewire import steps


def event(layer: str, status: str, current: int | None = None, total: int = 0) -> dict[str, Any]:
    detail = {} if current is None else {"current": current, "total": total}
    return {"status": status, "progressDetail": detail, "id": layer}


# As Docker 20.10 says it, but for most of its lines.
PULL = [
    event("1", "Pulling from vllm"),
    event("aa", "Already exists"),
    event("bb", "Pulling fs layer"),
    event("cc", "Pulling fs layer"),
    event("cc", "Waiting"),
    event("bb", "Downloading", 1_000_000_000, 2_000_000_000),
    event("cc", "Downloading", 600_000_000, 2_100_000_000),
    event("bb", "Verifying Checksum"),
    event("bb", "Extracting", 5, 1000),
    event("bb", "Pull complete"),
    event("cc", "Download complete"),
    {"status": "Digest: sha256:aa"},
]


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, ""),
        (2, "layers 1/1"),
        (4, "layers 1/3"),
        (7, "layers 1/3, 1.6 of 4.1 GB"),
        (8, "layers 1/3, 2.6 of 4.1 GB"),
        (10, "layers 2/3, 2.6 of 4.1 GB"),
        (12, "layers 2/3, 4.1 of 4.1 GB"),
    ],
)
def test_a_pull(count: int, said: str) -> None:
    progress = _image_events.Progress()
    for each in PULL[:count]:
        progress.add(each)
    assert progress.text() == said


def test_units_that_differ() -> None:
    progress = _image_events.Progress()
    progress.add(event("aa", "Downloading", 20_000_000, 2_000_000_000))
    assert progress.text() == "layers 0/1, 20.0 MB of 2.0 GB"


@pytest.mark.parametrize(
    ("done", "total", "seconds", "said"),
    [
        (1_234_000_000, 4_100_000_000, 13.0, "1234/4100 MB at 95 MB/s"),
        (1_000_000, 4_100_000_000, 0.1, "1/4100 MB"),
        # The sizes of the layers do not count what surrounds their files.
        (4_200_000_000, 4_100_000_000, 42.0, "4200/4200 MB at 100 MB/s"),
        (5_000_000, None, 2.0, "5 MB at 2 MB/s"),
        (0, 10, 2.0, "0/1 MB at 0 MB/s"),
    ],
)
def test_a_transfer(done: int, total: int | None, seconds: float, said: str) -> None:
    assert _image_events.sent(done, total, seconds) == said


def test_the_driver_shows_it_as_a_bar() -> None:
    line = f"node1: receiving the image, {_image_events.sent(10**9, 4 * 10**9, 9)} (9 s)"
    said = steps.parse(line)
    assert said is not None
    assert said.fraction == 0.25
