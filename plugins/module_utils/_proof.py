# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Judge what was observed after a deployment against the plan, and write it down as one record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from . import _environment

RECORD_SCHEMA = "samewire.record/1"

Connection = Mapping[str, Any]


def node_problems(
    plan: Mapping[str, Any], gpus: Mapping[str, int], registered: Mapping[str, int]
) -> list[str]:
    """Return where the nodes that Ray registered differ from the plan; registered: GPUs by address."""
    problems = []
    planned = {entry["address"]: host for host, entry in plan["hosts"].items()}
    for address, host in sorted(planned.items(), key=lambda item: item[1]):
        if address not in registered:
            problems.append(
                f"{host}: Ray has no node at {address}, got {', '.join(sorted(registered)) or 'none'}; "
                f"look at the log of the Ray container on {host}"
            )
        elif registered[address] != gpus[host]:
            problems.append(
                f"{host}: Ray's node at {address} has {registered[address]} GPUs, expected "
                f"{gpus[host]}; correct ray_node_gpus or the GPU access of the container"
            )
    problems += [
        f"Ray has a node at {address} that is not in the plan; stop that Ray or plan it"
        for address in sorted(set(registered) - set(planned))
    ]
    return problems


def part_problems(
    plan: Mapping[str, Any], head: str, port: int, census: Iterable[Connection]
) -> list[str]:
    """Return which hosts have no part of the head's server, which runs without Ray.

    port: where the head's part waits for the others; census: established connections of the head.
    """
    planned = {host: address for host, address in _planned(plan).items() if host != head}
    own = _planned(plan)[head]
    joined = {
        each["remote"] for each in census if (each["local"], each["local_port"]) == (own, port)
    }
    problems = [
        f"{host}: has no part of vLLM that is joined to {head} from {address}, got "
        f"{', '.join(sorted(joined)) or 'none'}; look at the log of the vLLM container on {host}"
        for host, address in sorted(planned.items())
        if address not in joined
    ]
    return problems + [
        f"{head}: a part of vLLM at {address} is joined that is not in the plan; stop it or plan it"
        for address in sorted(joined - set(planned.values()))
    ]


def addresses_of(facts: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return all addresses of each host, with their prefix, from its facts."""
    return {
        host: [
            address
            for interface in said.get("interfaces") or []
            for address in interface.get("addresses") or []
        ]
        for host, said in facts.items()
    }


def _owners(addresses: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return the host by address; an address that two hosts have, as docker0's, belongs to none."""
    owners: dict[str, set[str]] = {}
    for host, own in addresses.items():
        for address in own:
            owners.setdefault(address.split("/")[0], set()).add(host)
    return {address: hosts.pop() for address, hosts in owners.items() if len(hosts) == 1}


def stray_connections(
    plan: Mapping[str, Any],
    addresses: Mapping[str, Iterable[str]],
    censuses: Mapping[str, Iterable[Connection]],
) -> list[str]:
    """Return a sentence for each connection of two members outside the interconnect.

    addresses: all addresses of each host; censuses: established connections of each host.
    """
    planned = _planned(plan)
    return [
        f"{host}: is connected to {peer} from {local} to {remote}, expected from {planned[host]} to "
        f"{planned[peer]} on the interconnect; see what uses it with ss -tnp dst {remote} on {host}"
        for host, peer, local, remote in _strays(planned, addresses, censuses)
    ]


def waits_in_vain(
    plan: Mapping[str, Any],
    addresses: Mapping[str, Iterable[str]],
    pending: Mapping[str, Iterable[Connection]],
) -> list[str]:
    """Return a sentence for each member that another cannot reach where it looks for it.

    pending: connections of each host that nobody answered yet. To another address than the planned one
    they are what a silent start waits for; to the planned one, the wire has failed since it was proven.
    """
    planned = _planned(plan)
    said = [
        _waiting(plan, host, peer, local, remote)
        for host, peer, local, remote in _strays(planned, addresses, pending)
    ]
    for host, connections in sorted(pending.items()):
        asked = {(each["local"], each["remote"]) for each in connections}
        said += [
            f"{host}: gets no answer from {peer} at {address} on the interconnect; see whether {peer} is up "
            f"and {plan['hosts'][peer]['interface']} there has the address, with ip address show"
            for peer, address in sorted(planned.items())
            if (planned[host], address) in asked
        ]
    return said


def _waiting(plan: Mapping[str, Any], host: str, peer: str, local: str, remote: str) -> str:
    """Return what a host waits for: at a wrong address, or from one that is not its own on the wire."""
    own, wanted = plan["hosts"][host], plan["hosts"][peer]["address"]
    if remote == wanted:
        return (
            f"{host}: has lost the interconnect: asks {peer} at {remote} from {local}, expected from "
            f"{own['address']}; bring {own['interface']} up with that address, see ip address show "
            f"{own['interface']} on {host}"
        )
    return (
        f"{host}: waits in vain for {peer} at {remote} (from {local}), expected {wanted} on the "
        f"interconnect; see what asks with ss -tnp state syn-sent on {host}"
    )


def _planned(plan: Mapping[str, Any]) -> dict[str, str]:
    return {host: str(entry["address"]) for host, entry in plan["hosts"].items()}


def _strays(
    planned: Mapping[str, str],
    addresses: Mapping[str, Iterable[str]],
    censuses: Mapping[str, Iterable[Connection]],
) -> list[tuple[str, str, str, str]]:
    """Return host, peer, local and remote address of what runs between members off the interconnect."""
    owners = _owners(addresses)
    return sorted(
        {
            (host, owners[connection["remote"]], connection["local"], connection["remote"])
            for host, connections in censuses.items()
            for connection in connections
            if owners.get(connection["remote"], host) != host
            and (connection["local"], connection["remote"])
            != (planned[host], planned[owners[connection["remote"]]])
        }
    )


def record(
    plan: Mapping[str, Any],
    *,
    head: str,
    api_host: str,
    api_port: int,
    api_tls: bool,
    model: str,
    image: Mapping[str, Any],
    gpus: Mapping[str, int],
    executor: str,
    versions: Mapping[str, str],
    completion: Mapping[str, str],
    presets: Mapping[str, str],
    proven_at: str,
) -> dict[str, Any]:
    """Return the record of a proven deployment, schema samewire.record/1."""
    url = _environment.url(api_host, api_port, tls=api_tls)
    return {
        "schema": RECORD_SCHEMA,
        "cluster": plan["cluster"],
        "url": url,
        "model": model,
        "endpoints": {"completions": f"{url}/v1/completions", "chat": f"{url}/v1/chat/completions"},
        "transport": plan["transport"],
        "network": plan["network"]["cidr"],
        "nodes": {
            host: {
                "role": "head" if host == head else "worker",
                "address": entry["address"],
                "interface": entry["interface"],
                "gpus": gpus[host],
                "preset": presets[host],
            }
            for host, entry in sorted(plan["hosts"].items())
        },
        "image": dict(image),
        "executor": executor,
        "versions": dict(versions),
        "completion": dict(completion),
        "proven_at": proven_at,
    }
