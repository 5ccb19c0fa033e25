# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The action shows on the controller what its module says; the rest is that of all actions that wait so."""

from __future__ import annotations

import pytest

from ansible_collections.samewire.vllm.plugins.action import image_pull
from tests.unit.background_actions import GOES_ON, Run


def test_it_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(monkeypatch, image_pull.ActionModule)
    run(
        {"job": "/tmp/job"}, {**GOES_ON, "over": True, "progress": "pulling the image, layers 5/12"}
    )
    assert [line.rpartition(" (")[0] for line in run.shown] == [
        "node1: pulling the image, layers 5/12"
    ]


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({"seen": {"Id": "1d"}}, 0),
        ({"seen": {"Id": "1d"}, "pull": "not_present"}, 0),
        ({"seen": {"Id": "1d"}, "pull": "always"}, 1),
        ({"seen": {}}, 1),
        ({}, 1),
    ],
)
def test_a_host_that_was_seen_to_have_the_image_is_not_asked_again(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, object], asked: int
) -> None:
    run = Run(monkeypatch, image_pull.ActionModule, **given)
    result = run({"image": {"Id": "2d"}, "over": True})
    assert result["image"] == {"Id": "2d" if asked else "1d"}
    assert len(run.asked) == asked
