# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""One host's container environment, rendered from the plan: each variable has one owner, this file.

Who reads which variable, and what happens when it is unset, is measured in docs/environment.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

RAY_TOKEN_FILE = "/samewire-secrets/ray_token"
HF_TOKEN_FILE = "/samewire-secrets/hf_token"
API_KEY_FILE = "/samewire-secrets/vllm_api_key"
RPC_DIRECTORY = "/tmp/samewire-rpc"
VLLM_CONFIG_DIRECTORY = "/samewire/vllm"

# An override of these would put one layer on another wire than the rest.
PROTECTED = frozenset(
    {
        "GLOO_SOCKET_IFNAME",
        "MASTER_ADDR",
        "NCCL_COMM_ID",
        "NCCL_SOCKET_FAMILY",
        "NCCL_SOCKET_IFNAME",
        "RAY_ADDRESS",
        "RAY_AUTH_MODE",
        "RAY_AUTH_TOKEN",
        "RAY_AUTH_TOKEN_PATH",
        "SAMEWIRE_UNSET",
        "TP_SOCKET_IFNAME",
        "UCX_NET_DEVICES",
        "VLLM_DP_MASTER_IP",
        "VLLM_HOST_IP",
        "VLLM_NIXL_SIDE_CHANNEL_HOST",
        "VLLM_RPC_BASE_PATH",
    }
)

# These differ per host: vLLM must not copy the head's values to the workers.
HOST_SPECIFIC = (
    "GLOO_SOCKET_IFNAME",
    "NCCL_IB_GID_INDEX",
    "NCCL_IB_HCA",
    "NCCL_SOCKET_IFNAME",
    "SAMEWIRE_UNSET",
    "TP_SOCKET_IFNAME",
    "UCX_NET_DEVICES",
    "VLLM_HOST_IP",
    "VLLM_NIXL_SIDE_CHANNEL_HOST",
)

# These stay in the container that was given them: the head's driver would copy them into every worker.
SECRET = ("HF_TOKEN", "VLLM_API_KEY")

# An image may bake a value in; a container environment cannot remove it, so the entry point does.
# MASTER_ADDR: torch's env:// rendezvous; NCCL_COMM_ID: overrides NCCL's choice of interface;
# RAY_AUTH_TOKEN: Ray prefers it to the file; VLLM_DP_MASTER_IP: the arguments of vllm serve give it.
ALWAYS_UNSET = (
    "MASTER_ADDR",
    "MASTER_PORT",
    "NCCL_COMM_ID",
    "RAY_AUTH_TOKEN",
    "VLLM_DP_MASTER_IP",
)


# What NCCL must know of rails that do not reach each other, by the code of the plan's warning.
_RAIL_VARIABLES = {
    "rails_in_separate_networks": {"NCCL_CROSS_NIC": "0"},
    "rails_point_to_point": {"NCCL_IB_MERGE_NICS": "0", "NCCL_IB_SUBNET_AWARE_ROUTING": "1"},
}


# Values of variables with such names are for the containers alone.
_SECRET_NAME = re.compile(
    r"(^|_)(TOKENS?|SECRETS?|PASSWORD|PASSWD|CREDENTIALS?)(_|$)|KEYS?$", re.IGNORECASE
)
HIDDEN = "(not shown)"


class EnvironmentRefused(ValueError):
    """An override that would break the promise; the message names the host, the variable and the cure."""


@dataclass(frozen=True)
class _Place:
    """Where a host stands on the interconnect: its entry in the plan."""

    address: str
    interface: str
    hcas: tuple[str, ...]
    gid_index: int | None
    rail_networks: tuple[str, ...]


def shown(name: str, value: str) -> str:
    """Return a value for people to read, or HIDDEN where the name says that it is a secret."""
    return HIDDEN if _SECRET_NAME.search(name) else value


def _place(plan: Mapping[str, Any], host: str) -> _Place:
    hosts = plan.get("hosts") or {}
    if host not in hosts:
        raise EnvironmentRefused(
            f"{host}: is not in the plan (expected one of {', '.join(sorted(hosts)) or 'no host'}); "
            "plan the interconnect for all hosts of the cluster first"
        )
    entry = hosts[host]
    return _Place(
        address=entry["address"],
        interface=entry["interface"],
        hcas=tuple(entry.get("hcas") or ()),
        gid_index=entry.get("gid_index"),
        rail_networks=tuple(entry.get("rail_networks") or ()),
    )


def bracketed(address: str) -> str:
    """An address as it stands before a port: IPv6 in brackets."""
    return f"[{address}]" if ":" in address else address


def url(host: str, port: int, *, tls: bool) -> str:
    """Return the URL of a server, without a path."""
    return f"{'https' if tls else 'http'}://{bracketed(host)}:{port}"


def _wire(plan: Mapping[str, Any], place: _Place) -> dict[str, str]:
    """The variables that put vLLM, c10d, Gloo, NCCL and UCX on the planned interface."""
    wire = {
        "VLLM_HOST_IP": place.address,
        "VLLM_NIXL_SIDE_CHANNEL_HOST": place.address,
        # Gloo and TensorPipe take one bare name; NCCL matches a prefix unless it starts with "=".
        "GLOO_SOCKET_IFNAME": place.interface,
        "TP_SOCKET_IFNAME": place.interface,
        "NCCL_SOCKET_IFNAME": f"={place.interface}",
        "NCCL_SOCKET_FAMILY": "AF_INET6" if plan["network"]["family"] == 6 else "AF_INET",
    }
    if plan["transport"] != "rdma":
        return {
            **wire,
            "NCCL_NET": "Socket",
            "NCCL_IB_DISABLE": "1",
            "UCX_NET_DEVICES": place.interface,
        }
    wire.update(
        # NCCL_NET=IB turns NCCL's silent fallback to sockets into an error.
        NCCL_NET="IB",
        NCCL_IB_DISABLE="0",
        NCCL_IB_HCA="=" + ",".join(place.hcas),
        UCX_NET_DEVICES=",".join(place.hcas),
    )
    if place.gid_index is not None:
        wire["NCCL_IB_GID_INDEX"] = str(place.gid_index)
    elif place.rail_networks == (plan["network"]["cidr"],):
        # NCCL 2.21+ finds the index by itself; a port without a GID in this range would stay at 0.
        wire["NCCL_IB_ADDR_RANGE"] = plan["network"]["cidr"]
    for warning in plan.get("warnings") or ():
        wire.update(_RAIL_VARIABLES.get(warning["code"], {}))
    return wire


def _refuse(host: str, name: str, value: str, planned: Mapping[str, str]) -> None:
    needed = _needed(name, value, planned)
    if needed is not None:
        raise EnvironmentRefused(
            f"{host}: the environment sets {name}={shown(name, value)!r}, but the plan needs {needed} "
            "so that every layer uses the same wire; remove the override, or pin "
            "interconnect_network or interconnect_interface if the plan is wrong"
        )
    if name == "NCCL_IB_GID_INDEX" and not value.strip():
        raise EnvironmentRefused(
            f"{host}: the environment sets NCCL_IB_GID_INDEX to an empty string, which NCCL reads "
            "as 0; give a number or remove the override"
        )


def _needed(name: str, value: str, planned: Mapping[str, str]) -> str | None:
    """What the plan needs in place of a value that leads to another wire, None for any other value."""
    if name in PROTECTED and planned.get(name) != value:
        return repr(planned[name]) if name in planned else "it unset"
    if name == "NCCL_NET" and value == "IB" and planned["NCCL_NET"] != "IB":
        return f"{planned['NCCL_NET']!r}, since not every host has an HCA on the interconnect,"
    if name == "NCCL_IB_HCA":
        if name not in planned:
            return "it unset"
        ports = set(planned[name].lstrip("=").split(","))
        if not value.startswith("=") or not set(value[1:].split(",")) <= ports:
            return f"{planned[name]!r} or fewer of these"
    return None


def planned_environment(
    plan: Mapping[str, Any], host: str, head: str = "", ray_port: int = 6379
) -> dict[str, str]:
    """Return what the plan gives to a host before any override; without a head, no RAY_ADDRESS.

    Raises EnvironmentRefused where a host is not planned.
    """
    planned = {
        **_wire(plan, _place(plan, host)),
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": RAY_TOKEN_FILE,
        # Ray folds equal lines of several ranks into one unless told not to.
        "RAY_DEDUP_LOGS": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "VLLM_RPC_BASE_PATH": RPC_DIRECTORY,
        # vLLM would keep its usage statistics in the next folder, which is read-only.
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CONFIG_ROOT": VLLM_CONFIG_DIRECTORY,
    }
    if head:
        planned["RAY_ADDRESS"] = f"{bracketed(_place(plan, head).address)}:{ray_port}"
    return planned


def check_overrides(host: str, wanted: Mapping[str, str], planned: Mapping[str, str]) -> None:
    """Raise EnvironmentRefused for the first variable of the user that breaks the promise."""
    for name, value in wanted.items():
        _refuse(host, name, value, planned)


def node_environment(
    plan: Mapping[str, Any],
    host: str,
    head: str,
    ray_port: int = 6379,
    overrides: Mapping[str, Any] | None = None,
) -> dict[str, str]:
    """Return the environment of the containers of one host, sorted by name.

    plan: a plan of schema samewire.plan/1 without an error; host, head: names of hosts in it;
    ray_port: the port of Ray's GCS on the head; overrides: the user's variables, which win.
    Raises EnvironmentRefused where the host is not planned or an override breaks the promise.
    """
    planned = planned_environment(plan, host, head, ray_port)
    wanted = {str(name): str(value) for name, value in (overrides or {}).items()}
    check_overrides(host, wanted, planned)
    environment = {**planned, **wanted}
    unset = {*ALWAYS_UNSET, "NCCL_IB_GID_INDEX", "NCCL_IB_HCA", "NCCL_IB_ADDR_RANGE"}
    environment["SAMEWIRE_UNSET"] = " ".join(sorted(unset - environment.keys()))
    return dict(sorted(environment.items()))
