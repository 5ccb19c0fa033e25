# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the presets add, as plain values."""

from __future__ import annotations

import json

from ansible_collections.samewire.vllm.plugins.filter.hardware_presets import hardware_presets
from tests.unit.plugins.module_utils.test_presets import SPARK, nodes, settings


def test_it_is_plain() -> None:
    found = hardware_presets(settings("spark0"), "spark0", nodes(spark0=[SPARK]))
    assert json.loads(json.dumps(found)) == found
    assert found["hosts"]["spark0"]["preset"] == "dgx-spark"
