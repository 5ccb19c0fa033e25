# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the containers of one host share: image, environment, mounts and the way to its devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _environment, _parts

HUB_DIRECTORY = "/samewire-hub"

_RAY_PORT = 6379

# Root in a container reads and writes folders of the account that Ansible connects as. All else that Docker
# gives by default is dropped; docs/security.md says who could want it.
_CAPABILITIES = ["CAP_DAC_OVERRIDE"]

GPU_ACCESS = ("auto", "device_request", "runtime", "cdi", "none")


@dataclass(frozen=True)
class NodeSettings:
    """The desired state of one node, as the variables ray_node_* give it.

    directory: the cluster's directory on the host; model: a hub id, or an absolute path on the host;
    hub_cache: the host's cache of the hub; gpus: GPUs that the node announces; offline: the cache has all, so
    that nobody asks the hub.
    """

    cluster: str
    head: str
    image: str
    model: str
    directory: str
    port: int
    gpus: int
    gpu_access: str
    hub_cache: str
    programs: str
    environment: Mapping[str, Any]
    mounts: Sequence[str]
    offline: bool = False


def _gpu_options(access: str, gpus: int) -> dict[str, Any]:
    """Return options of docker_container that let a container see the GPUs of its host."""
    if access == "auto":
        access = "device_request" if gpus else "none"
    if access == "device_request":
        return {"device_requests": [{"capabilities": [["gpu"]], "count": -1}]}
    if access == "cdi":
        return {"device_requests": [{"driver": "cdi", "device_ids": ["nvidia.com/gpu=all"]}]}
    if access == "runtime":
        return {"runtime": "nvidia"}
    return {}


def _rdma_options(transport: str) -> dict[str, Any]:
    """Return options that let a container register memory with the HCAs; without RDMA there are none."""
    if transport != "rdma":
        return {}
    return {
        "devices": ["/dev/infiniband:/dev/infiniband:rwm"],
        "capabilities": [*_CAPABILITIES, "CAP_IPC_LOCK"],
        "ulimits": ["memlock:-1:-1"],
    }


def _volumes(settings: NodeSettings) -> list[str]:
    base = f"{settings.directory}/{settings.cluster}"
    weights = (
        f"{settings.model}:{settings.model}:ro"
        if settings.model.startswith("/")
        else f"{settings.hub_cache}:{HUB_DIRECTORY}:rw"
    )
    return [
        f"{base}/node:/samewire:ro",
        f"{base}/secrets:/samewire-secrets:ro",
        # The driver in its own container needs the sessions and the local sockets of the head's Ray.
        f"{base}/ray:/tmp/ray:rw",
        f"{base}/rpc:{_environment.RPC_DIRECTORY}:rw",
        weights,
        *settings.mounts,
    ]


def node_container(plan: Mapping[str, Any], host: str, settings: NodeSettings) -> dict[str, Any]:
    """Return options of community.docker.docker_container that all containers of a host share.

    plan: a plan of schema samewire.plan/1 without an error. Raises EnvironmentRefused, as
    `_environment.node_environment` does.
    """
    environment = _environment.node_environment(
        plan, host, settings.head, settings.port, settings.environment
    )
    if settings.programs:
        environment["SAMEWIRE_PROGRAMS"] = settings.programs
    if not settings.model.startswith("/"):
        environment.setdefault("HF_HOME", HUB_DIRECTORY)
        if settings.offline:
            environment.setdefault("HF_HUB_OFFLINE", "1")
    if settings.gpu_access == "runtime":
        environment.setdefault("NVIDIA_VISIBLE_DEVICES", "all")
    return {
        "image": settings.image,
        "entrypoint": ["/bin/sh", "/samewire/run.sh"],
        "env": environment,
        "volumes": _volumes(settings),
        "devices": [],
        "cap_drop": ["ALL"],
        "capabilities": _CAPABILITIES,
        "security_opts": ["no-new-privileges:true"],
        "ulimits": [],
        "device_requests": [],
        "network_mode": "host",
        "ipc_mode": "host",
        "restart_policy": "unless-stopped",
        "log_driver": "json-file",
        "log_options": {"max-size": "50m", "max-file": "3"},
        **_gpu_options(settings.gpu_access, settings.gpus),
        **_rdma_options(plan["transport"]),
    }


def neighbour_ports(port: int, *, is_head: bool) -> dict[str, int]:
    """Return the further ports of a cluster that lives beside another on the same hosts, by Ray's option.

    port: of its GCS. On Ray's own default port the others are left to Ray's defaults, too; source:
    ray/_private/ray_constants.py and scripts.py (10001, 8265, 52365).
    """
    if port == _RAY_PORT:
        return {}
    own = {"--dashboard-agent-listen-port": port + 1}
    head = {"--ray-client-server-port": port + 2, "--dashboard-port": port + 3}
    return {**own, **head} if is_head else own


def ray_start(
    plan: Mapping[str, Any], host: str, settings: NodeSettings, extra: Sequence[str] = ()
) -> list[str]:
    """Return the command of the Ray container: of the head on the head, else of a worker."""
    address = plan["hosts"][host]["address"]
    head = _environment.bracketed(plan["hosts"][settings.head]["address"])
    place = (
        ["--head", f"--port={settings.port}"]
        if host == settings.head
        else [f"--address={head}:{settings.port}"]
    )
    return [
        "ray",
        "start",
        *place,
        f"--node-ip-address={address}",
        f"--num-gpus={settings.gpus}",
        *(
            f"{option}={number}"
            for option, number in neighbour_ports(
                settings.port, is_head=host == settings.head
            ).items()
        ),
        "--disable-usage-stats",
        "--block",
        *extra,
    ]


def expected_nodes(plan: Mapping[str, Any], gpus: Mapping[str, int]) -> str:
    """Return the planned nodes as cluster_nodes.py takes them: ADDRESS=GPUS,... in order of name."""
    return ",".join(f"{plan['hosts'][host]['address']}={gpus[host]}" for host in sorted(gpus))


def server_entry(
    plan: Mapping[str, Any],
    host: str,
    head: str,
    gpus: Mapping[str, int],
    executor: str,
    master_port: int,
) -> list[str]:
    """Return what the container of vLLM runs before vllm serve, which waits until all hosts are there."""
    if executor == _parts.RAY:
        nodes = expected_nodes(plan, gpus)
        return [
            *("python", "/samewire/cluster_nodes.py", "wait"),
            *("--expect", nodes, "--timeout", "0", "--"),
        ]
    addresses = {name: str(entry["address"]) for name, entry in plan["hosts"].items()}
    lead = f"{_environment.bracketed(addresses[head])}:{_parts.lead_port(master_port)}"
    if host != head:
        place = ["follow", "--head", lead, "--own", addresses[host]]
    else:
        others = [addresses[name] for name in sorted(gpus) if name != head]
        place = ["lead", "--listen", lead, *(["--expect", ",".join(others)] if others else [])]
    return ["python", "/samewire/ranks.py", *place, "--"]
