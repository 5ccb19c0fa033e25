# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What identifies an image: the digest of a registry, else its id."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.filter import image_digests

PULLED = {"Id": "sha256:aa", "RepoDigests": ["registry.example:5000/vllm@sha256:bb"]}
RECEIVED = {"Id": "sha256:aa", "RepoDigests": []}
OTHER = {"Id": "sha256:cc", "RepoDigests": [], "RootFS": {"Layers": ["sha256:1"]}}
SAME_IN_ANOTHER_STORE = {**OTHER, "Id": "sha256:dd", "Config": {"Cmd": None, "Labels": {}}}


@pytest.mark.parametrize(
    ("images", "digests"),
    [
        ([None, {}], ["", ""]),
        ([RECEIVED, OTHER], ["sha256:aa", "sha256:cc"]),
        ([PULLED, RECEIVED], ["sha256:bb", "sha256:bb"]),
        ([PULLED, OTHER], ["sha256:bb", "sha256:cc"]),
        ([{**PULLED, "Id": "sha256:ee"}, PULLED, RECEIVED], ["sha256:bb"] * 3),
        ([SAME_IN_ANOTHER_STORE, OTHER], ["sha256:cc", "sha256:cc"]),
        (
            [{**OTHER, "Config": {"Env": ["A=1"]}, "Id": "sha256:dd"}, OTHER],
            ["sha256:dd", "sha256:cc"],
        ),
    ],
)
def test_image_digests(images: list[dict[str, Any] | None], digests: list[str]) -> None:
    named = {f"node{number}": image for number, image in enumerate(images)}
    assert list(image_digests.image_digests(named).values()) == digests
