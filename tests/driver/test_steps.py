# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a long task says of itself, as numbers."""

from __future__ import annotations

import pytest

from samewire import steps


@pytest.mark.parametrize(
    ("line", "fraction", "rate", "left"),
    [
        ("pulling the image, layers 5/12, 1.0 of 4.0 GB (40 s)", 0.25, 25.0, 120.0),
        ("receiving the image, 1025/4100 MB at 95 MB/s (12 s)", 0.25, None, 36.0),
        ("downloading weights, 1,000.0 of 4,000.0 GB (10 s)", 0.25, 100_000.0, 30.0),
        ("loading weights 12/48 (40 s)", 0.25, None, 120.0),
        # It says itself what is left.
        ("loading weights 12/48, 01:20 left (40 s)", 0.25, None, None),
        # Nobody knows yet, or any more.
        ("pulling the image, layers 0/2, 1.0 of 4.0 MB (1 s)", 0.25, None, None),
        ("pulling the image, layers 0/2, 0.0 of 4.0 MB (9 s)", 0.0, 0.0, None),
        ("pulling the image, layers 2/2, 4.0 of 4.0 MB (4 s)", 1.0, None, None),
        ("receiving the image, 0/0 MB (4 s)", None, None, None),
        ("connecting to Ray (9 s)", None, None, None),
    ],
)
def test_a_line(line: str, fraction: float | None, rate: float | None, left: float | None) -> None:
    said = steps.parse(f"node0: {line}\n")
    assert said is not None
    assert (said.host, said.what) == ("node0", line.rpartition(" (")[0])
    assert (said.fraction, said.rate, said.left) == (fraction, rate, left)


def test_another_line() -> None:
    assert steps.parse("Using /etc/ansible/ansible.cfg as config file") is None
