# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""An image without Ray or vLLM, or with others elsewhere, is told before anything starts."""

from __future__ import annotations

import json

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _image

CURE = (
    "vLLM's own images have no Ray since about 0.18: build one from it with RUN pip install "
    "'ray[default]', or name their directory with ray_node_programs"
)


def printed(**changes: str | None) -> str:
    found = {"python": "3.12.3", "ray": "2.60.0", "vllm": "0.32.0", **changes}
    return f"a warning\nsamewire:versions {json.dumps(found)}\n"


def test_the_same_everywhere() -> None:
    assert _image.problems("i:1", {"node0": printed(), "node1": printed()}) == []


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        (
            "samewire: node1: the image has no program ray in any of /usr/bin; use another image",
            f"node1: image i:1 has no Ray, expected both in one Python; {CURE}",
        ),
        (
            printed(vllm=None),
            f"node1: image i:1 has no vLLM, expected both in one Python; {CURE}",
        ),
        (
            printed(vllm=None, ray=None),
            f"node1: image i:1 has no Ray and no vLLM, expected both in one Python; {CURE}",
        ),
        (
            "exec /bin/sh: exec format error\n",
            "node1: image i:1 does not run its Python (exec /bin/sh: exec format error); expected an image "
            "for this host's processor that holds Ray and vLLM, correct container_image_name",
        ),
        (
            "",
            "node1: image i:1 does not run its Python (it printed nothing); expected an image for this "
            "host's processor that holds Ray and vLLM, correct container_image_name",
        ),
        (
            printed(ray="2.42.0"),
            "node1: Ray in image i:1 is 2.42.0, expected 2.60.0 as on node0; give all hosts the same "
            "container_image_name and run again with -e container_image_pull=always",
        ),
    ],
)
def test_a_host_with_another_image(output: str, problem: str) -> None:
    assert _image.problems("i:1", {"node0": printed(), "node1": output}) == [problem]
