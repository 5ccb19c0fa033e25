# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""An image without vLLM, or with other versions elsewhere, is told before anything starts."""

from __future__ import annotations

import json

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _image

LACKING = (
    "node1: image i:1 has no vLLM, expected it beside its Python; correct container_image_name, or name the "
    "directory of its programs with ray_node_programs"
)


def printed(**changes: str | None) -> str:
    found = {"python": "3.12.3", "ray": "2.60.0", "vllm": "0.32.0", **changes}
    return f"a warning\nsamewire:versions {json.dumps(found)}\n"


def test_the_same_everywhere() -> None:
    assert _image.problems("i:1", {"node0": printed(), "node1": printed()}) == []
    without = printed(ray=None)
    assert _image.problems("i:1", {"node0": without, "node1": without}) == []


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        (
            "samewire: node1: the image has no program vllm in any of /usr/bin; use another image",
            LACKING,
        ),
        (printed(vllm=None), LACKING),
        (
            "exec /bin/sh: exec format error\n",
            "node1: image i:1 does not run its Python (exec /bin/sh: exec format error); expected an image "
            "for this host's processor that holds vLLM, correct container_image_name",
        ),
        (
            "",
            "node1: image i:1 does not run its Python (it printed nothing); expected an image for this "
            "host's processor that holds vLLM, correct container_image_name",
        ),
        (
            printed(ray="2.42.0"),
            "node1: Ray in image i:1 is 2.42.0, expected 2.60.0 as on node0; give all hosts the same "
            "container_image_name and run again with -e container_image_pull=always",
        ),
        (
            printed(ray=None),
            "node1: Ray in image i:1 is absent, expected 2.60.0 as on node0; give all hosts the same "
            "container_image_name and run again with -e container_image_pull=always",
        ),
    ],
)
def test_a_host_with_another_image(output: str, problem: str) -> None:
    assert _image.problems("i:1", {"node0": printed(), "node1": output}) == [problem]
