# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Only hosts that failed are listed."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter.run_failures import FilterModule


def test_hosts_that_failed() -> None:
    listed = FilterModule().filters()["run_failures"]
    variables = {
        "node0": {},
        "node1": {"ansible_failed_result": {"msg": "boom"}, "ansible_failed_task": {"name": "T"}},
    }
    assert listed(variables, ["node0", "node1"]) == [
        {"host": "node1", "task": "T", "message": "boom"}
    ]
