# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the lab consists of: names, addresses, sizes."""

from dataclasses import dataclass
from ipaddress import IPv4Network

PREFIX = "samewire-lab"

MANAGEMENT = f"{PREFIX}-management"
MANAGEMENT_SUBNET = IPv4Network("10.213.1.0/24")
MANAGEMENT_GATEWAY = "10.213.1.1"
FABRIC = f"{PREFIX}-fabric"
FABRIC_SUBNET = IPv4Network("10.213.2.0/24")

REGISTRY = f"{PREFIX}-registry"
REGISTRY_PORT = 5000
# The machine pushes through loopback; the hosts can only pull, from the management gateway.
REGISTRY_PUSH = f"127.0.0.1:{REGISTRY_PORT}"
REGISTRY_PULL = f"{MANAGEMENT_GATEWAY}:{REGISTRY_PORT}"
IMAGE = "samewire/vllm-cpu"
IMAGE_TAG = "0.32.0"

MODEL_PATH = "/models/tiny"
HOST_MEMORY = 7 * 2**30
HOST_SHM = 2 * 2**30
USERS = ("root", "operator", "dockhand")


@dataclass(frozen=True)
class Host:
    """One host; the fabric's interface name differs, as cables sit in different ports."""

    name: str
    management_address: str
    management_interface: str
    fabric_address: str
    fabric_interface: str

    @property
    def container(self) -> str:
        """Name of the container that is this host, and of the volume under its Docker Engine."""
        return f"{PREFIX}-{self.name}"


HOSTS = (
    Host("node0", "10.213.1.180", "enP7s7", "10.213.2.12", "enp1s0f0np0"),
    Host("node1", "10.213.1.181", "enP7s7", "10.213.2.13", "enp1s0f1np1"),
)
