# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What of the lab exists and what it costs."""

from dataclasses import asdict, dataclass
from typing import Any

from docker import DockerClient
from docker.models.containers import Container

from samewire_lab import engine, hosts, images, networks, registry, spec
from samewire_lab.containers import execute
from samewire_lab.images import Images
from samewire_lab.state import State


@dataclass(frozen=True)
class HostStatus:
    """A host: its container's state ("absent" without one), addresses, memory in bytes."""

    name: str
    state: str
    ready: bool
    management: str
    fabric: str
    memory_bytes: int


@dataclass(frozen=True)
class Status:
    """The lab at one moment; `engine` is a version or None, `engine_started_by_lab` tells how."""

    engine: str | None
    engine_started_by_lab: str | None
    images: dict[str, bool]
    networks: dict[str, bool]
    registry: str | None
    hosts: tuple[HostStatus, ...]

    @property
    def up(self) -> bool:
        """Whether a deployment can start."""
        return bool(self.registry) and all(host.ready for host in self.hosts)

    @property
    def memory_bytes(self) -> int:
        """Memory of the hosts together, in bytes."""
        return sum(host.memory_bytes for host in self.hosts)

    def to_json(self) -> dict[str, Any]:
        """Return the status as JSON data."""
        return {
            "schema": "samewire.lab/1",
            "up": self.up,
            "memory_bytes": self.memory_bytes,
            **asdict(self),
        }


def read(state: State) -> Status:
    """Look at the machine; changes nothing."""
    wanted = Images.current()
    client = engine.connect()
    if client is None:
        return Status(
            engine=None,
            engine_started_by_lab=None,
            images=dict.fromkeys(wanted.all(), False),
            networks={network.name: False for network in networks.NETWORKS},
            registry=None,
            hosts=tuple(_host(None, state, host) for host in spec.HOSTS),
        )
    served = registry.serves(client, wanted.vllm)
    return Status(
        engine=client.version()["Version"],
        engine_started_by_lab=engine.started_by_lab(state),
        images={image: images.exists(client, image) for image in wanted.all()},
        networks={
            network.name: networks.present(client, network.name) for network in networks.NETWORKS
        },
        registry=f"{spec.REGISTRY_PULL}/{spec.IMAGE}:{spec.IMAGE_TAG}" if served else None,
        hosts=tuple(_host(client, state, host) for host in spec.HOSTS),
    )


def _host(client: DockerClient | None, state: State, host: spec.Host) -> HostStatus:
    container = hosts.get(client, host) if client else None
    return HostStatus(
        name=host.name,
        state=container.status if container else "absent",
        ready=bool(client and hosts.ready(client, state, host)),
        management=f"{host.management_address} on {host.management_interface}",
        fabric=f"{host.fabric_address} on {host.fabric_interface}",
        memory_bytes=_memory(container) if container else 0,
    )


def _memory(container: Container) -> int:
    """Return the memory that the host and its containers occupy, in bytes.

    `docker stats` shows nothing for a container whose interfaces were renamed.
    """
    if container.status != "running":
        return 0
    # cgroup v1 has a tree for memory, v2 has one tree for all.
    script = (
        "own=$(cat /run/lab-cgroup) || exit; "
        "cat /sys/fs/cgroup/memory$own/memory.stat || cat /sys/fs/cgroup$own/memory.stat"
    )
    return occupied(execute(container, ["sh", "-c", script])[1])


def occupied(stat: str) -> int:
    """Return the bytes that the kernel cannot simply take back, of a memory.stat of either version.

    These are anonymous and shared memory, without the page cache.
    """
    values = {name: int(value) for name, value in (line.split() for line in stat.splitlines())}
    anonymous = values.get("total_rss", values.get("anon", 0))
    return anonymous + values.get("total_shmem", values.get("shmem", 0))
