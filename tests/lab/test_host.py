# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a host offers: users, an engine of its own, the model, the registry."""

import hashlib
import json

import pytest
from docker import DockerClient

from samewire_lab import model, spec, status
from samewire_lab.images import Images
from samewire_lab.state import State
from tests.lab.shell import Shell

IMAGE = f"{spec.REGISTRY_PULL}/{spec.IMAGE}:{spec.IMAGE_TAG}"


def test_operator_is_root_by_sudo_only(shells: tuple[Shell, Shell], state: State) -> None:
    for shell in shells:
        operator = Shell(state, shell.host, "operator")
        assert operator.read("sudo -n id -u") == "0"
        assert operator.run("docker version").returncode != 0


def test_dockhand_has_docker_and_no_sudo(shells: tuple[Shell, Shell], state: State) -> None:
    for shell in shells:
        dockhand = Shell(state, shell.host, "dockhand")
        dockhand.read("docker version")
        assert dockhand.run("sudo -n true").returncode != 0


def test_each_host_has_an_engine_of_its_own(shells: tuple[Shell, Shell]) -> None:
    first, second = (shell.read("docker info --format '{{.ID}}'") for shell in shells)
    assert first != second


def test_both_hosts_have_the_model_with_its_reference(
    shells: tuple[Shell, Shell], state: State
) -> None:
    here = model.directory(state, Images.current().vllm)
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in here.iterdir()}
    for shell in shells:
        lines = shell.read(f"cd {spec.MODEL_PATH} && sha256sum *").splitlines()
        assert {name: digest for digest, name in map(str.split, lines)} == sums
    reference = json.loads((here / "reference.json").read_text())
    assert set(reference) == {"model", "prompt", "max_tokens", "temperature", "text"}
    assert reference["text"].startswith(" the same wire")


def test_hosts_pull_from_the_registry_and_cannot_push(shells: tuple[Shell, Shell]) -> None:
    shell = shells[0]
    shell.read(f"docker pull --quiet {IMAGE}")
    other = IMAGE.replace(spec.IMAGE_TAG, "other")
    done = shell.run(f"docker tag {IMAGE} {other} && docker push {other}")
    shell.read(f"docker rmi {other}")
    assert done.returncode != 0


def test_containers_of_a_host_count_towards_its_limit(
    shells: tuple[Shell, Shell], client: DockerClient
) -> None:
    shell = shells[0]
    shell.read(f"docker pull --quiet {IMAGE}")
    group = shell.read(f"docker run --rm --entrypoint cat {IMAGE} /proc/self/cgroup")
    outer = client.containers.get(shell.host.container).id
    memory = [line for line in group.splitlines() if ":memory:" in line or line.startswith("0:")]
    assert all(str(outer) in line or line.endswith(":/") for line in memory)
    own = shell.read("cat /run/lab-cgroup")
    limit = shell.read(
        f"cat /sys/fs/cgroup/memory{own}/memory.limit_in_bytes 2> /dev/null"
        f" || cat /sys/fs/cgroup{own}/memory.max"
    )
    assert int(limit) == spec.HOST_MEMORY


def test_memory_is_counted(state: State) -> None:
    for host in status.read(state).hosts:
        assert 2**20 < host.memory_bytes < spec.HOST_MEMORY


@pytest.mark.parametrize("number", [0, 1])
def test_shared_memory_is_large_enough_for_ray(shells: tuple[Shell, Shell], number: int) -> None:
    size = shells[number].read("df --output=size --block-size=1 /dev/shm").split()[-1]
    assert int(size) == spec.HOST_SHM
