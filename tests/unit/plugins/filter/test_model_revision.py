# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments of vllm serve to a revision."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter.model_revision import model_revision


def test_it_is_handed_on() -> None:
    assert model_revision(["--revision", "v1"]) == "v1"
    assert model_revision([]) == "main"
