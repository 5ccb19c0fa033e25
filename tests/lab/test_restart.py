# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A host, its engine, and the lab's command come back as they were."""

from docker import DockerClient

from samewire_lab import hosts, lab, progress, spec
from samewire_lab.state import State
from samewire_lab.waiting import wait_for
from tests.lab.shell import Shell


def test_up_on_a_running_lab_changes_nothing(client: DockerClient, state: State) -> None:
    def started() -> list[tuple[str, str]]:
        found = (client.containers.get(host.container) for host in spec.HOSTS)
        return [(str(one.id), one.attrs["State"]["StartedAt"]) for one in found]

    before = started()
    with progress.create() as shown:
        lab.up(state, shown)
    assert started() == before


def test_a_killed_engine_comes_back(shells: tuple[Shell, Shell]) -> None:
    shell = shells[1]
    before = shell.engine()
    assert before
    shell.read("pkill -x dockerd")
    wait_for(
        lambda: shell.engine() not in ("", before),
        60,
        "Docker Engine on node1 did not come back",
    )


def test_a_host_survives_a_restart(
    shells: tuple[Shell, Shell], client: DockerClient, state: State
) -> None:
    shell = shells[1]
    interfaces = shell.addresses()
    known = state.known_hosts.read_text()
    shell.read("touch /tmp/before /run/before")
    client.containers.get(shell.host.container).restart()
    hosts.wait_ready(client, state, shell.host)
    assert shell.addresses() == interfaces
    assert state.known_hosts.read_text() == known
    assert shell.read("ls /tmp/before /run/before 2> /dev/null || true") == ""
    shell.read(f"ping -c 1 -W 2 {spec.HOSTS[0].fabric_address}")
    shell.read(f"test -f {spec.MODEL_PATH}/reference.json")
