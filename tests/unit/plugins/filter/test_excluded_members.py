# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Who joins is kept out by the firewall of before, as the rules that it was given say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.filter.excluded_members import excluded_members
from ansible_collections.samewire.vllm.plugins.module_utils import _firewall

PLAN = {"hosts": {f"spark{index}": {"address": f"192.168.200.1{index}"} for index in (2, 3, 4)}}


def rules(members: Sequence[str], **changes: Any) -> str:
    wanted: dict[str, Any] = {
        "host": "spark2",
        "cluster": "pair",
        "interface": "enp1s0f0np0",
        "members": members,
        "ports": [6379],
        "first_free": 32768,
        "api_port": 8000,
        "api_clients": ["10.0.0.0/8"],
        "trusted": [],
        "open_ports": ["11000-11010"],
        **changes,
    }
    return _firewall.ruleset(_firewall.Firewall(**wanted))


@pytest.mark.parametrize(
    ("rules", "kept_out"),
    [
        (rules(["192.168.200.12", "192.168.200.13"]), {"spark2": ["spark4"]}),
        (rules(["192.168.200.12"]), {"spark2": ["spark3", "spark4"]}),
        (rules(["192.168.200.12", "192.168.200.13", "192.168.200.14"]), {}),
        (rules(["192.168.200.12"], trusted=["192.168.0.0/16", "fd00::/8"]), {}),
        (rules([]), {"spark2": ["spark2", "spark3", "spark4"]}),
    ],
)
def test_who_is_kept_out(rules: str, kept_out: dict[str, list[str]]) -> None:
    assert excluded_members(PLAN, {"spark2": _firewall.admitted(rules), "spark3": None}) == kept_out


def test_the_clients_of_the_api_are_not_admitted() -> None:
    assert _firewall.admitted(rules(["192.168.200.12"], api_clients=["192.168.200.14"])) == [
        "192.168.200.12/32"
    ]
