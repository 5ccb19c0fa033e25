# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a container is the one that is wanted."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _renewal

OPTIONS = {
    "command": ["ray", "start"],
    "env": {"A": "1", "B": "2"},
    "labels": {"samewire.node": "spark0"},
    "restart_policy": "unless-stopped",
}
LABELS = _renewal.change({}, OPTIONS, "sha256:1d", ["run.sh"])["options"]["labels"]
STATE = {
    "Id": "4f",
    "Image": "sha256:1d",
    "RestartCount": 2,
    "State": {"Status": "restarting", "Running": True},
    "Config": {"Labels": LABELS},
    "HostConfig": {"RestartPolicy": {"Name": "unless-stopped"}},
}


def action(found: dict[str, Any], options: dict[str, Any] = OPTIONS, **other: Any) -> str:
    given = {"image": "sha256:1d", "inputs": ["run.sh"], **other}
    return str(_renewal.change(found, options, **given)["action"])


def test_what_counts_of_a_container() -> None:
    assert _renewal.seen(STATE) == {
        "id": "4f",
        "status": "restarting",
        "runs": True,
        "restarts": 2,
        "image": "sha256:1d",
        "restart_policy": "unless-stopped",
        "options": LABELS["samewire.options"],
    }


@pytest.mark.parametrize("labels", [None, {}])
def test_a_container_that_does_not_tell_its_options_is_made_anew(
    labels: dict[str, str] | None,
) -> None:
    found = _renewal.seen({**STATE, "Config": {"Labels": labels}})
    assert found["options"] is None
    assert action(found) == "create"


def test_the_container_that_is_wanted_is_left_alone_and_started_where_it_stands_still() -> None:
    found = _renewal.seen(STATE)
    assert action(found) == "none"
    assert action({**found, "runs": False}) == "start"
    assert action({}) == "create"


@pytest.mark.parametrize("other", [{"image": "sha256:2d"}, {"image": ""}, {"inputs": ["other"]}])
def test_another_image_and_another_input_make_another_container(other: dict[str, Any]) -> None:
    assert action(_renewal.seen(STATE), **other) == "create"


@pytest.mark.parametrize(
    "other",
    [
        {"command": ["start", "ray"]},
        {"env": {"A": "1"}},
        {"env": {"A": 1, "B": "2"}},
        {"labels": {}},
        {"init": True},
    ],
)
def test_any_other_option_makes_another_container(other: dict[str, Any]) -> None:
    assert action(_renewal.seen(STATE), {**OPTIONS, **other}) == "create"


def test_a_restart_policy_that_was_changed_by_hand_makes_another_container() -> None:
    changed = {**STATE, "HostConfig": {"RestartPolicy": {"Name": "no"}}}
    assert action(_renewal.seen(changed)) == "create"


def test_the_order_of_names_is_no_difference() -> None:
    assert action(_renewal.seen(STATE), dict(reversed(OPTIONS.items()))) == "none"


def test_the_options_are_those_given_and_a_label() -> None:
    options = _renewal.change({}, OPTIONS, "sha256:1d")["options"]
    assert {**options, "labels": None} == {**OPTIONS, "labels": None}
    assert set(options["labels"]) == {"samewire.node", "samewire.options"}
