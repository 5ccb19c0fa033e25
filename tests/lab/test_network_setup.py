# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A second address and a smaller MTU on the fabric of the lab, and the fabric as it was."""

from __future__ import annotations

import json
import pathlib
import subprocess
from collections.abc import Iterator

import pytest
from docker import DockerClient

from samewire_lab import spec
from tests.lab.driver import INVENTORY, PLAIN, ROOT
from tests.lab.shell import Shell

pytestmark = pytest.mark.heals

MTU = 1400


def run(folder: pathlib.Path, state: str) -> list[int]:
    """Run the playbook, and return how much it changed on each host."""
    argv = ["ansible-playbook", "-i", INVENTORY, "-i", str(folder / "links.json")]
    done = subprocess.run(
        [*argv, "samewire.vllm.network_setup", "-e", f"interconnect_network_setup_state={state}"],
        cwd=ROOT,
        env=PLAIN,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    recap = done.stdout.rpartition("PLAY RECAP")[2].splitlines()
    return [int(line.partition("changed=")[2].split()[0]) for line in recap if "node" in line]


def fabric(shell: Shell) -> tuple[int, set[str]]:
    (link,) = json.loads(shell.read(f"ip -j address show {shell.host.fabric_interface}"))
    return link["mtu"], {
        f"{each['local']}/{each['prefixlen']}"
        for each in link["addr_info"]
        if each["scope"] == "global"
    }


@pytest.fixture
def _a_switch(client: DockerClient) -> Iterator[None]:
    """Let the fabric carry any network, as a switch does; Docker lets it carry its own alone."""
    bridge = f"br-{str(client.networks.get(spec.FABRIC).id)[:12]}"
    rule = ["DOCKER-USER", "-i", bridge, "-o", bridge, "-j", "ACCEPT"]
    subprocess.run(["iptables", "-w", "-I", *rule], check=True)
    yield
    subprocess.run(["iptables", "-w", "-D", *rule], check=True)


@pytest.mark.usefixtures("_a_switch")
def test_there_and_back(shells: tuple[Shell, Shell], tmp_path: pathlib.Path) -> None:
    before = [fabric(shell) for shell in shells]
    addresses = [f"10.214.9.{number}/24" for number in (1, 2)]
    hosts = {
        shell.host.name: {
            "interconnect_network_setup_links": [
                {"interface": shell.host.fabric_interface, "address": address, "mtu": MTU}
            ]
        }
        for shell, address in zip(shells, addresses, strict=True)
    }
    (tmp_path / "links.json").write_text(json.dumps({"all": {"hosts": hosts}}))
    try:
        assert run(tmp_path, "present") == [1, 1]
        assert [fabric(shell) for shell in shells] == [
            (MTU, {*had, address}) for (_, had), address in zip(before, addresses, strict=True)
        ]
        assert run(tmp_path, "present") == [0, 0]
    finally:
        run(tmp_path, "absent")
    assert [fabric(shell) for shell in shells] == before
