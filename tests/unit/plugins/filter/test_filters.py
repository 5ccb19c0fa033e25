# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Every filter stands in a file of its name."""

from __future__ import annotations

import importlib
import pathlib

import pytest

FILTERS = sorted(
    path.stem for path in (pathlib.Path(__file__).parents[4] / "plugins/filter").glob("*.py")
)


@pytest.mark.parametrize("name", FILTERS)
def test_a_file_offers_the_filter_of_its_name(name: str) -> None:
    module = importlib.import_module(f"ansible_collections.samewire.vllm.plugins.filter.{name}")
    assert module.FilterModule().filters() == {name: getattr(module, name)}
