# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The filter; which variables those are is in the tests of _status."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter.planned_variables import planned_variables
from tests.unit.plans import plan


def test_planned_variables_takes_the_port_as_jinja_gives_it() -> None:
    found = planned_variables(plan(), "spark1", "spark0", "6380")  # type: ignore[arg-type]
    assert found["VLLM_HOST_IP"] == "192.168.200.13"
    assert found["RAY_ADDRESS"] == "192.168.200.12:6380"
