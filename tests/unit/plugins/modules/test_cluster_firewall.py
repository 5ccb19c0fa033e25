# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the firewall's module refuses; tests/netns/test_firewall.py has it work on the kernel."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.modules import cluster_firewall
from tests.unit.modules import run_module


class _Failed(Exception):
    pass


def test_input_of_which_no_rule_can_be_made() -> None:
    said = run_module(
        "cluster_firewall", cluster="lab", host="node0", interface="eth0", trusted=["all of them"]
    )
    assert said["msg"] == (
        "node0: firewall_trusted holds 'all of them', expected an address or a network as 10.0.0.0/8; "
        "correct it in the inventory"
    )


def test_a_host_without_nft(monkeypatch: pytest.MonkeyPatch) -> None:
    class Module:
        check_mode = False

        def __init__(self, argument_spec: dict[str, Any], **_: Any) -> None:
            defaults = {name: spec.get("default") for name, spec in argument_spec.items()}
            self.params = {**defaults, "cluster": "lab", "host": "node0", "interface": "eth0"}

        def get_bin_path(self, name: str) -> None:
            assert name == "nft"

        def fail_json(self, msg: str) -> None:
            raise _Failed(msg)

    monkeypatch.setattr(cluster_firewall, AnsibleModule.__name__, Module)
    with pytest.raises(_Failed) as failed:
        cluster_firewall.main()
    assert str(failed.value) == (
        "node0: the firewall needs nft, which is not installed; install it (Debian, Ubuntu: apt install "
        "nftables) on node0, or set firewall_enabled: false"
    )
