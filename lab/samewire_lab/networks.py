# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The two networks: management, where the hosts do not reach each other, and the fabric."""

from dataclasses import dataclass, field
from ipaddress import IPv4Network
from pathlib import Path

from docker import DockerClient
from docker.errors import NotFound
from docker.types import IPAMConfig, IPAMPool

from samewire_lab import spec, subnets
from samewire_lab.errors import LabError


@dataclass(frozen=True)
class Network:
    """A Docker network to be created."""

    name: str
    subnet: IPv4Network
    internal: bool
    gateway: str | None = None
    options: dict[str, str] = field(default_factory=dict)


NETWORKS = (
    Network(
        spec.MANAGEMENT,
        spec.MANAGEMENT_SUBNET,
        internal=False,
        gateway=spec.MANAGEMENT_GATEWAY,
        # The machine reaches each host; packets from one host to the other are dropped.
        options={"com.docker.network.bridge.enable_icc": "false"},
    ),
    Network(spec.FABRIC, spec.FABRIC_SUBNET, internal=True),
)


def present(client: DockerClient, name: str) -> bool:
    """Tell whether the engine has the network."""
    try:
        client.networks.get(name)
    except NotFound:
        return False
    return True


def create(client: DockerClient) -> None:
    """Create the networks that are missing; LabError when a subnet is in use on the machine."""
    absent = [network for network in NETWORKS if not present(client, network.name)]
    if sentence := subnets.collision((network.subnet for network in absent), _used(client)):
        raise LabError(sentence)
    for network in absent:
        pool = IPAMPool(subnet=str(network.subnet), gateway=network.gateway)
        client.networks.create(
            network.name,
            driver="bridge",
            internal=network.internal,
            options=network.options,
            ipam=IPAMConfig(pool_configs=[pool]),
        )


def remove(client: DockerClient) -> None:
    """Remove the networks."""
    for network in NETWORKS:
        if present(client, network.name):
            client.networks.get(network.name).remove()


def _used(client: DockerClient) -> list[subnets.Used]:
    used = [
        subnets.Used(IPv4Network(pool["Subnet"]), f"Docker network {network.name}")
        for network in client.networks.list()
        for pool in network.attrs["IPAM"]["Config"] or ()
        if ":" not in pool["Subnet"]
    ]
    bridges = {f"interface br-{str(network.id)[:12]}" for network in client.networks.list()}
    routed = subnets.routes(Path("/proc/net/route").read_text())
    # A Docker network's own route is named by its network above.
    return used + [route for route in routed if route.owner not in bridges]
