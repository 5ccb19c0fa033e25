# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Judge whether the hosts can become the desired cluster, before anything is changed on any of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _containers, _model, _parts, _shape, _status

# What a test may let through, so that the fault shows itself later.
GATES = ("fit", "image", "nodes", "ports", "rdma", "shm", "versions", "weights", "wire")

# Ray's object store and NCCL's channels live in /dev/shm; Docker's own default of 64 MiB starves both.
_SHM = 1 << 30


@dataclass(frozen=True)
class Desire:
    """What a deployment wants of its hosts.

    ports: purpose and variable by port, per host; gpus: GPUs per host that Ray will announce; figures: those
    of the model, where they are known; shm: bytes that /dev/shm must have where it is more than usual; skip:
    names of GATES that judge nothing; distribution: how the hosts come by the image, as
    container_image_distribution; image_variable: which variable names the image that is looked for.
    """

    head: str
    image: str
    model: str
    sizes: _shape.Sizes
    gpus: Mapping[str, int]
    ports: Mapping[str, Mapping[int, tuple[str, str]]]
    figures: _model.Model | None = None
    shm: Mapping[str, int] = field(default_factory=dict)
    skip: frozenset[str] = frozenset()
    distribution: str = "pull"
    image_variable: str = "container_image_name"


# Ports of one component, not the ends of a range; source: `ray start --help`.
_FIXED_PORT = re.compile(r"--(?P<component>(?!min-|max-)[a-z-]+)-port(?:=(?P<port>\d+))?")


def ports(settings: Mapping[str, Any], *, is_head: bool) -> dict[int, tuple[str, str]]:
    """Return the TCP ports that the containers of a host will listen on: purpose and variable by port.

    settings: the variables of the host. Port 0, which lets the system choose, is left out.
    """
    found: dict[int, tuple[str, str]] = {}
    # Where nobody has chosen yet, each may be taken.
    wanted = settings.get("vllm_server_executor", _parts.AUTO)
    if wanted != _parts.MP:
        found |= _ray_ports(settings, is_head=is_head)
    if is_head and wanted != _parts.RAY:
        master = int(settings["vllm_server_master_port"])
        replicas = int(settings["vllm_server_data_parallel_size"])
        for port, purpose in _parts.ports(master, replicas=replicas).items():
            found[port] = (purpose, "vllm_server_master_port")
    if is_head:
        found[int(settings["vllm_server_port"])] = ("the vLLM API", "vllm_server_port")
    return {port: user for port, user in sorted(found.items()) if port}


def _ray_ports(settings: Mapping[str, Any], *, is_head: bool) -> dict[int, tuple[str, str]]:
    gcs = int(settings["ray_node_port"])
    found = {
        each: (f"Ray's {option.strip('-').replace('-port', '').replace('-', ' ')}", "ray_node_port")
        for option, each in _containers.neighbour_ports(gcs, is_head=is_head).items()
    }
    for variable in (
        "ray_node_extra_args",
        "ray_head_extra_args" if is_head else "ray_worker_extra_args",
    ):
        for component, port in _fixed_ports(settings.get(variable) or []):
            found[port] = (f"Ray's {component.replace('-', ' ')}", variable)
    if is_head:
        found[gcs] = ("the Ray head", "ray_node_port")
    return found


def _fixed_ports(arguments: Sequence[str]) -> list[tuple[str, int]]:
    found = []
    for argument, following in zip(arguments, [*arguments[1:], ""]):
        matched = _FIXED_PORT.fullmatch(argument)
        port = matched and (matched["port"] or following)
        if matched and port and port.isdigit():
            found.append((matched["component"], int(port)))
    return found


def unreachable_problem(host: str, where: str, reason: str) -> str:
    """Return the sentence for a host that Ansible cannot connect to."""
    # Ansible wraps what ssh said in sentences of its own.
    detail = " ".join(reason.rpartition("via ssh: ")[2].split()) or "no reason given"
    return (
        f"{host}: cannot be reached over SSH at {where} ({detail}); check ansible_host, "
        f"ansible_user and the key with: ssh {where}"
    )


def python_problem(host: str, where: str, said: str) -> str:
    """Return the sentence for a host that answers, but does not run Ansible's modules."""
    detail = said.strip().splitlines()[-1].strip() if said.strip() else "it said nothing"
    return (
        f"{host}: does not run Ansible's modules ({detail}); expected Python 3.9 or newer that starts "
        f"without an error, try ssh {where} python3 --version, or set ansible_python_interpreter"
    )


def _docker_problem(host: str, node: Mapping[str, Any]) -> str | None:
    reason = node["docker"]["reason"]
    if reason is None:
        return None
    user = node["user"]
    if "no permission" in reason:
        return (
            f"{host}: user {user} may not use Docker ({reason}); add {user} to group docker on "
            f"{host}, or set ansible_become: true in the inventory"
        )
    return (
        f"{host}: no Docker Engine answers ({reason}); install and start it "
        f"(Debian, Ubuntu: apt install docker.io) on {host}"
    )


def _image_problem(host: str, node: Mapping[str, Any], desire: Desire) -> str | None:
    image, found = desire.image, node["image"]
    if found["local"] or found["registry"] or node["docker"]["reason"]:
        return None
    if host != desire.head and desire.distribution != "pull":
        return None
    return (
        f"{host}: image {image} is neither on the host nor to be had from its registry "
        f"({found['reason']}); correct {desire.image_variable}, or log in with docker login on {host}"
    )


def _shm_problem(host: str, node: Mapping[str, Any], least: int) -> str | None:
    size = node["shm"]
    if size is None or size >= least:
        return None
    return (
        f"{host}: /dev/shm has {size / (1 << 20):,.0f} MiB, expected at least {least >> 20:,} MiB for Ray "
        f"and NCCL; enlarge it with: mount -o remount,size=8G /dev/shm on {host} (and in /etc/fstab)"
    )


def node_problems(host: str, node: Mapping[str, Any], desire: Desire) -> list[str]:
    """Return what keeps one host from becoming a node; node is what module node_info returned."""
    problems = [_docker_problem(host, node), _image_problem(host, node, desire)]
    if not node["requests"]:
        problems.append(
            f"{host}: Python of user {node['user']} lacks the library requests, which Ansible's Docker "
            f"modules need; install it (Debian, Ubuntu: apt install python3-requests) on {host}"
        )
    if "shm" not in desire.skip:
        problems.append(_shm_problem(host, node, desire.shm.get(host, _SHM)))
    for path, exists in sorted(node["paths"].items()):
        if not exists and "weights" not in desire.skip:
            problems.append(
                f"{host}: model path {path} does not exist; expected the weights there on every "
                f"host, copy them to {host} or correct vllm_server_model"
            )
    for port, (purpose, variable) in sorted(desire.ports[host].items()):
        holder = node["ports"].get(str(port))
        if holder and "ports" not in desire.skip:
            problems.append(
                f"{host}: port {port} for {purpose} is taken by {holder}; stop it or set "
                f"{variable} to a free port"
            )
    problems += [
        _status.foreign(host, name, name.rpartition("-")[0], label)
        for name, label in sorted(node["foreign"].items())
    ]
    if not node["directory"]["writable"]:
        problems.append(
            f"{host}: user {node['user']} may not write {node['directory']['path']}; set "
            "ray_node_directory to a directory of that user, or ansible_become: true"
        )
    return [problem for problem in problems if problem]


def problems(nodes: Mapping[str, Mapping[str, Any]], desire: Desire) -> list[str]:
    """Return all that stands against the deployment, a sentence each, hosts in order of name."""
    figures = None if "fit" in desire.skip else desire.figures
    found = _shape.problems(desire.sizes, desire.gpus, desire.head, figures)
    for host in sorted(nodes):
        found += node_problems(host, nodes[host], desire)
    return found


def rdma_problems(nodes: Mapping[str, Mapping[str, Any]], transport: str) -> list[str]:
    """Return what keeps the containers of a host from its HCAs, where the plan says RDMA."""
    if transport != "rdma":
        return []
    said = []
    for host in sorted(nodes):
        rdma = nodes[host]["rdma"]
        if not rdma["devices"]:
            said.append(
                f"{host}: /dev/infiniband has no device, expected uverbs0 or the like, since the plan says "
                f"RDMA; load the driver on {host} with: modprobe ib_uverbs"
            )
        if rdma["memlock"] is not None:
            said.append(
                f"{host}: the Docker Engine may lock {rdma['memlock'] >> 10:,} KiB of memory, expected no "
                "limit, since the plan says RDMA; set LimitMEMLOCK=infinity with: systemctl edit docker on "
                f"{host}"
            )
    return said
