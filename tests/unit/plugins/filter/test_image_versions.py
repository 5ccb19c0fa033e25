# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What an image holds, from the container that was asked."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter.image_versions import image_versions


def test_versions_of_an_image_that_answers_and_of_one_that_was_not_asked() -> None:
    said = 'samewire:versions {"python": "3.12.3", "ray": null, "vllm": "0.32.0"}'
    found = {"python": "3.12.3", "ray": None, "vllm": "0.32.0"}
    assert image_versions({"container": {"Output": f"a warning\n{said}\n"}}) == found
    assert image_versions({"skipped": True}) == {}
