# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The plan of a cluster as values, and its JSON form, schema samewire.plan/1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SCHEMA = "samewire.plan/1"


@dataclass(frozen=True)
class Rejected:
    """An interface (or one of its addresses) that was not chosen, and why."""

    interface: str
    address: str | None
    because: str


@dataclass(frozen=True)
class RejectedHca:
    """An RDMA port (DEVICE:PORT) that carries no data, and why."""

    hca: str
    because: str


@dataclass(frozen=True)
class HostPlan:
    """The decision for one host.

    `address` and `prefix` are None only where the facts do not state the address of the chosen
    interface. `hcas` are DEVICE:PORT. `gid_index` is None where NCCL has to find it by itself.
    `rail_networks` are the IP networks of the RoCE ports among them, which may differ from the
    interconnect's.
    """

    address: str | None
    prefix: int | None
    interface: str
    hcas: tuple[str, ...]
    gid_index: int | None
    rail_networks: tuple[str, ...]
    rejected: tuple[Rejected, ...]
    rejected_hcas: tuple[RejectedHca, ...]


@dataclass(frozen=True)
class NetworkPlan:
    """The network that all layers use; the MTU is the smallest of all hosts, in bytes."""

    cidr: str | None
    family: int
    mtu: int | None
    chosen_because: tuple[str, ...]


@dataclass(frozen=True)
class Notice:
    """A warning. `host` is None where it concerns the whole cluster."""

    code: str
    message: str
    host: str | None = None


@dataclass(frozen=True)
class Plan:
    """What the cluster decided. The transport is `rdma` or `socket`."""

    cluster: str
    transport: str
    network: NetworkPlan
    hosts: Mapping[str, HostPlan]
    warnings: tuple[Notice, ...]


@dataclass(frozen=True)
class PlanError:
    """Why there is no plan: a code, one sentence, and the hosts it is about."""

    code: str
    message: str
    hosts: tuple[str, ...]


class Refusal(Exception):
    """Carries a PlanError out of the decision."""

    def __init__(self, code: str, message: str, hosts: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.error = PlanError(code, message, hosts)


def to_json(outcome: Plan | PlanError) -> dict[str, Any]:
    """The plain form of a plan or of its error."""
    if isinstance(outcome, PlanError):
        error = {"code": outcome.code, "message": outcome.message, "hosts": list(outcome.hosts)}
        return {"schema": SCHEMA, "error": error}
    return {
        "schema": SCHEMA,
        "cluster": outcome.cluster,
        "transport": outcome.transport,
        "network": {
            "cidr": outcome.network.cidr,
            "family": outcome.network.family,
            "mtu": outcome.network.mtu,
            "chosen_because": list(outcome.network.chosen_because),
        },
        "hosts": {name: _host(host) for name, host in outcome.hosts.items()},
        "warnings": [
            {"code": notice.code, "host": notice.host, "message": notice.message}
            for notice in outcome.warnings
        ],
    }


# As people call them.
TRANSPORTS = {"rdma": "RDMA", "socket": "TCP sockets"}
# So many hosts are named in one line.
_NAMED = 4


def summary(plan: Mapping[str, Any]) -> str:
    """Return a plan of schema samewire.plan/1 in one line; empty where it is an error."""
    if "error" in plan:
        return ""
    network, hosts = plan["network"], plan["hosts"]
    mtu = f", MTU {network['mtu']}" if network["mtu"] else ""
    named = [
        f"{name} {entry['address'] or 'address not stated'} on {entry['interface']}"
        + (f" with {', '.join(entry['hcas'])}" if entry["hcas"] else "")
        for name, entry in list(hosts.items())[:_NAMED]
    ]
    more = [f"and {len(hosts) - _NAMED} more"] if len(hosts) > _NAMED else []
    where = network["cidr"] or "a network that is not stated"
    return f"wire: {where}, {TRANSPORTS[plan['transport']]}{mtu}: {'; '.join([*named, *more])}"


def _host(host: HostPlan) -> dict[str, Any]:
    return {
        "address": host.address,
        "prefix": host.prefix,
        "interface": host.interface,
        "hcas": list(host.hcas),
        "gid_index": host.gid_index,
        "rail_networks": list(host.rail_networks),
        "rejected": [
            {"interface": each.interface, "address": each.address, "because": each.because}
            for each in host.rejected
        ],
        "rejected_hcas": [
            {"hca": each.hca, "because": each.because} for each in host.rejected_hcas
        ],
    }
