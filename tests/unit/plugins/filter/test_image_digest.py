# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What identifies an image: the digest of its registry, else its id."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.filter import image_digest


@pytest.mark.parametrize(
    ("image", "digest"),
    [
        (None, ""),
        ({}, ""),
        ({"Id": "sha256:aa", "RepoDigests": []}, "sha256:aa"),
        ({"Id": "sha256:aa", "RepoDigests": ["registry.example:5000/vllm@sha256:bb"]}, "sha256:bb"),
    ],
)
def test_image_digest(image: dict[str, Any] | None, digest: str) -> None:
    assert image_digest.image_digest(image) == digest
