# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The rules of a firewall, and the sentence for what no rule can be made of."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils._firewall import (
    Firewall,
    FirewallRefused,
    ruleset,
)

HEAD: dict[str, Any] = {
    "host": "node0",
    "cluster": "dgx-spark-pair",
    "interface": "enp1s0f0np0",
    "members": ["192.168.200.12", "192.168.200.14"],
    "ports": [6379, 8000],
    "first_free": 32768,
    "api_port": 8000,
    "api_clients": ["10.1.0.0/16", "10.1.230.7", "fd00::7"],
    "trusted": ["10.9.9.9"],
    "open_ports": ["11000", "11001-11009", "40000"],
}


def rules(**changes: Any) -> str:
    return ruleset(Firewall(**{**HEAD, **changes}))


def test_the_rules_of_a_head() -> None:
    assert rules() == (
        "table inet samewire_dgx-spark-pair\n"
        "delete table inet samewire_dgx-spark-pair\n"
        "table inet samewire_dgx-spark-pair {\n"
        "\tchain input {\n"
        "\t\ttype filter hook input priority filter; policy accept;\n"
        "\t\ttcp flags & (syn | ack) != syn accept\n"
        '\t\tiifname "lo" accept\n'
        '\t\tiifname "enp1s0f0np0" ip saddr { 192.168.200.12/32, 192.168.200.14/32 } accept\n'
        "\t\tip saddr { 10.9.9.9/32 } accept\n"
        "\t\ttcp dport { 11000-11009, 40000 } accept\n"
        "\t\tip saddr { 10.1.0.0/16 } tcp dport 8000 accept\n"
        "\t\tip6 saddr { fd00::7/128 } tcp dport 8000 accept\n"
        "\t\ttcp dport { 6379, 8000, 8265, 10001-19999, 32768-65535 } reject with tcp reset\n"
        "\t}\n"
        "}\n"
    )


def test_everybody_may_use_an_api_without_named_clients_wherever_its_port_lies() -> None:
    lines = rules(api_clients=[], api_port=12000, ports=[6379, 12000]).splitlines()
    assert lines[-4:-2] == [
        "\t\ttcp dport 12000 accept",
        "\t\ttcp dport { 6379, 8265, 10001-19999, 32768-65535 } reject with tcp reset",
    ]


def test_a_worker_serves_no_api() -> None:
    assert "8000" not in rules(api_port=None, ports=[7001], api_clients=[])


def test_the_ports_that_the_kernel_chooses_may_begin_anywhere() -> None:
    assert "{ 6379, 8000, 8265, 9000-65535 }" in rules(first_free=9000)


def test_members_of_ipv6() -> None:
    assert 'iifname "enp1s0f0np0" ip6 saddr { fd00::1/128 } accept' in rules(members=["fd00::1"])


ADDRESS = "expected an address or a network as 10.0.0.0/8; correct it in the inventory"
PORT = "expected a port or a range as 11000-11010; correct it in the inventory"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"trusted": ["10.0.0.0/8 accept; flush ruleset"]},
            f"node0: firewall_trusted holds '10.0.0.0/8 accept; flush ruleset', {ADDRESS}",
        ),
        ({"api_clients": ["office"]}, f"node0: firewall_api_clients holds 'office', {ADDRESS}"),
        ({"members": ["\n"]}, f"node0: plan holds '\\n', {ADDRESS}"),
        ({"open_ports": ["0"]}, f"node0: firewall_open_ports holds '0', {PORT}"),
        ({"open_ports": ["9-8"]}, f"node0: firewall_open_ports holds '9-8', {PORT}"),
        ({"open_ports": ["1-65536"]}, f"node0: firewall_open_ports holds '1-65536', {PORT}"),
        ({"open_ports": ["22 }"]}, f"node0: firewall_open_ports holds '22 }}', {PORT}"),
        (
            {"interface": 'eth0" accept; #'},
            "node0: 'eth0\" accept; #' is no name of an interface that a firewall can take; rename it, or "
            "set firewall_enabled: false",
        ),
        (
            {"interface": "eth*"},
            "node0: 'eth*' is no name of an interface that a firewall can take; rename it, or set "
            "firewall_enabled: false",
        ),
    ],
)
def test_what_no_rule_can_be_made_of(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(FirewallRefused) as refused:
        rules(**changes)
    assert str(refused.value) == message
