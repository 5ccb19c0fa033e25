# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Two networks, of which one joins the hosts."""

import json

import pytest

from samewire_lab import spec
from tests.lab.shell import Shell


def test_interfaces_have_the_names_and_addresses_of_the_plan(shells: tuple[Shell, Shell]) -> None:
    for shell in shells:
        assert shell.addresses() == {
            shell.host.management_interface: shell.host.management_address,
            shell.host.fabric_interface: shell.host.fabric_address,
        }


def test_the_default_route_leads_to_management(shells: tuple[Shell, Shell]) -> None:
    for shell in shells:
        (route,) = json.loads(shell.read("ip -j -4 route show default"))
        assert (route["gateway"], route["dev"]) == (
            spec.MANAGEMENT_GATEWAY,
            shell.host.management_interface,
        )


@pytest.mark.parametrize(("here", "there"), [(0, 1), (1, 0)])
def test_hosts_reach_each_other_on_the_fabric(
    shells: tuple[Shell, Shell], here: int, there: int
) -> None:
    shells[here].read(f"ping -c 1 -W 2 {spec.HOSTS[there].fabric_address}")


@pytest.mark.parametrize(("here", "there"), [(0, 1), (1, 0)])
def test_hosts_do_not_reach_each_other_on_management(
    shells: tuple[Shell, Shell], here: int, there: int
) -> None:
    target = spec.HOSTS[there].management_address
    assert shells[here].run(f"ping -c 1 -W 2 {target}").returncode == 1
    # Not ICMP alone: the port that the machine itself reaches by SSH.
    assert shells[here].run(f"timeout 2 bash -c '< /dev/tcp/{target}/22'").returncode == 124


def test_a_host_name_is_a_loopback_address(shells: tuple[Shell, Shell]) -> None:
    for shell in shells:
        name = shell.read("hostname")
        assert name == shell.host.name
        assert shell.read(f"getent ahostsv4 {name}").split()[0] == "127.0.1.1"
