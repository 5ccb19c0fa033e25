# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: what there is of a cluster on one host, in one call; changes nothing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_status
short_description: Read what there is of a cluster on one host
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Reads the containers of the cluster, the addresses of the host, the memory of its GPUs and, on the head,
    which nodes are connected to Ray and what the server says of itself.
  - What cannot be read is absent with a reason, never a failure. Nothing is changed.
attributes:
  check_mode:
    description: Can run in check mode; it never changes anything.
    support: full
options:
  cluster:
    description: Name of the cluster.
    type: str
    required: true
  directory:
    description: Directory on the host that holds the files of all clusters.
    type: path
    required: true
  environment:
    description: >-
      Variables that the containers must have. Only names of those that differ are returned, no values.
    type: dict
    default: {}
  head:
    description: >-
      On the head, C(ray_port), the port of Ray's GCS, C(master_port), where the ranks meet without Ray,
      C(host) and C(port), where the server listens, and C(tls), whether it speaks TLS.
    type: dict
"""

EXAMPLES = r"""
- name: Read what there is of the cluster
  samewire.vllm.cluster_status:
    cluster: spark-pair
    directory: ~/.samewire
    head: {ray_port: 6379, master_port: 29501, host: 0.0.0.0, port: 8000}
  register: seen
"""

RETURN = r"""
node:
  description: What was found.
  returned: always
  type: dict
  sample:
    docker: {version: 20.10.24, reason: null}
    containers: {ray: {status: running, own: true, restarts: 0, age: 81.5}, vllm: null}
    kept: []
    addresses: {enp1s0f0np0: [192.168.200.12]}
    gpus: {list: [], reason: nvidia-smi is not installed}
    directory: {exists: true, foreign: false}
    firewall: true
    members: [192.168.200.12, 192.168.200.13]
    server: {healthy: true, models: [tiny]}
"""

import calendar
import json
import os
import time
from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.parsing.convert_bool import boolean

from ansible_collections.samewire.vllm.plugins.module_utils import (
    _engine,
    _firewall,
    _kept,
    _local_api,
    _parts,
    _server_state,
    _socket_tables,
    _sockets,
    _startup,
)

_LINES = 2000
_LAST_LINES = 5
_NVIDIA_SMI = (
    "--query-gpu=index,name,memory.used,memory.total",
    "--format=csv,noheader,nounits",
)


def _age(moment: str) -> float:
    """Return the seconds since a time of Docker, which is UTC."""
    return time.time() - calendar.timegm(time.strptime(moment[:19], "%Y-%m-%dT%H:%M:%S"))


def _since(stamped: list[str], begun: str) -> list[str]:
    """Return lines without the time that Docker gave them, only those since a start."""
    return [line.partition(" ")[2] for line in stamped if line[:19] >= begun[:19]]


def _differing(given: list[str], expected: Mapping[str, Any]) -> list[str]:
    has = dict(entry.partition("=")[::2] for entry in given)
    return sorted(name for name, value in expected.items() if has.get(name) != str(value))


def container(
    engine: _engine.Engine, cluster: str, name: str, environment: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return what is of interest of one container, or None where there is none."""
    found = engine.container(name)
    if found is None:
        return None
    state, config = found["State"], found["Config"]
    label = (config.get("Labels") or {}).get("samewire.cluster")
    last = _since(engine.log_tail(name, _LAST_LINES, timestamps=True), state["StartedAt"])
    return {
        "id": found["Id"],
        "own": label == cluster,
        "label": label,
        "executor": (config.get("Labels") or {}).get("samewire.executor"),
        "status": state["Status"],
        "health": (state.get("Health") or {}).get("Status"),
        "exit_code": state["ExitCode"],
        "restarts": found["RestartCount"],
        "gave_up": state["Status"] == "running" and _server_state.gave_up(last),
        "pause": _server_state.pause(last) if state["Status"] == "running" else None,
        "started_at": f"{state['StartedAt'][:19]}Z",
        "age": round(_age(state["StartedAt"]), 1),
        "image": config["Image"],
        "digests": _digests(engine, found["Image"]),
        "environment_differs": _differing(config.get("Env") or [], environment),
    }


def _digests(engine: _engine.Engine, image: str) -> list[str]:
    """Return by which digests an image goes; its id is one of them, since not every image was pulled."""
    try:
        known = engine.get(f"/images/{image}/json").get("RepoDigests") or []
    except _engine.EngineRefused:
        known = []
    return sorted({image, *(digest.rpartition("@")[2] for digest in known)})


def _containers(
    engine: _engine.Engine, cluster: str, environment: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        part: container(engine, cluster, f"{cluster}-{part}", environment) for part in _parts.PARTS
    }


def _kept_containers(engine: _engine.Engine, cluster: str) -> list[str]:
    """Return what a change that did not end has kept."""
    found = engine.containers(f"samewire.cluster={cluster}")
    names = (str(each["Names"][0]).lstrip("/") for each in found)
    return sorted(filter(_kept.is_before, names))


def _addresses(module: AnsibleModule) -> dict[str, list[str]]:
    program = module.get_bin_path("ip")
    code, out, _unused = (
        module.run_command([program, "-json", "address"]) if program else (1, "", "")
    )
    if code:
        return {}
    return {
        link["ifname"]: [address["local"] for address in link["addr_info"] if "local" in address]
        for link in json.loads(out)
        if link.get("ifname")
    }


def _gpus(module: AnsibleModule) -> dict[str, Any]:
    program = module.get_bin_path("nvidia-smi")
    if program is None:
        return {"list": [], "reason": "nvidia-smi is not installed"}
    code, out, err = module.run_command([program, *_NVIDIA_SMI])
    if code:
        said = (err or out).strip().splitlines()
        return {"list": [], "reason": said[-1] if said else f"nvidia-smi ended with {code}"}
    return {"list": _server_state.gpus(out), "reason": None}


def _members(port: int) -> list[str] | None:
    """Return the addresses from which a connection to the GCS of this host stands, or to its part of vLLM.

    A raylet keeps one as long as it lives, as ranks.py does, and to look at the kernel's table takes no time;
    Ray's own answer takes a Python that imports it.
    """
    return sorted(
        {
            each.remote
            for each in _socket_tables.sockets()
            if each.state == _sockets.ESTABLISHED and each.local_port == port
        }
    )


def _key(directory: str) -> str | None:
    try:
        with open(os.path.join(directory, "secrets", "vllm_api_key"), encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return None


def _models(url: str, key: str | None) -> list[str]:
    status, body = _local_api.get(f"{url}/v1/models", key)
    if status != 200:
        return []
    return [str(model["id"]) for model in json.loads(body).get("data", [])]


def server(url: str, key: str | None, stamped: list[str], begun: str) -> dict[str, Any]:
    """Return what a server says of itself.

    stamped: its log, each line after the time that Docker gave it; begun: when its container started.
    """
    status, body = _local_api.get(f"{url}/health")
    healthy = status == 200
    return {
        "healthy": healthy,
        "answer": f"status {status}" if status else body,
        "models": _models(url, key) if healthy else [],
        **_server_state.metrics(_local_api.get(f"{url}/metrics", key)[1] if healthy else ""),
        "last_request": _server_state.last_request(stamped),
        "progress": "ready" if healthy else _startup.follow(_since(stamped, begun)).text(),
    }


def _firewall_stands(module: AnsibleModule, cluster: str) -> bool | None:
    """Return whether the rules of the cluster are loaded; None without any, or where only root can tell."""
    program, kept = module.get_bin_path("nft"), _firewall.file(cluster)
    if not program or os.geteuid() != 0 or not os.path.exists(kept):
        return None
    command = _firewall.listing_command(program, cluster)
    _unused, listing, _unused = module.run_command(command)
    try:
        with open(_firewall.listing_file(cluster), encoding="utf-8") as file:
            return bool(file.read() == listing)
    except OSError:
        return False


def _directory(path: str) -> dict[str, bool]:
    """Return whether a directory exists, and whether it holds folders that this user may not empty."""
    user = os.getuid()
    foreign = user != 0 and any(
        os.stat(each).st_uid != user for each, _unused, _unused in os.walk(path)
    )
    return {"exists": os.path.isdir(path), "foreign": foreign}


def read(module: AnsibleModule) -> dict[str, Any]:
    """Return all that there is of the cluster on this host."""
    cluster, head = module.params["cluster"], module.params["head"]
    directory = os.path.join(os.path.abspath(module.params["directory"]), cluster)
    engine = _engine.Engine()
    node: dict[str, Any] = {
        "docker": {"version": None, "reason": None},
        "containers": dict.fromkeys(_parts.PARTS),
        "kept": [],
        "addresses": _addresses(module),
        "gpus": _gpus(module),
        "directory": _directory(directory),
        "firewall": _firewall_stands(module, cluster),
        "members": None,
        "server": None,
    }
    try:
        node["docker"]["version"] = engine.version()
        node["containers"] = _containers(engine, cluster, module.params["environment"])
        node["kept"] = _kept_containers(engine, cluster)
        serving = node["containers"]["vllm"]
        if head and serving and serving["status"] == "running":
            url = _server_state.local_url(
                str(head["host"]), int(head["port"]), tls=boolean(head.get("tls", False))
            )
            stamped = engine.log_tail(f"{cluster}-vllm", _LINES, timestamps=True)
            node["server"] = server(url, _key(directory), stamped, serving["started_at"])
    except (_engine.EngineUnavailable, _engine.EngineRefused) as error:
        node["docker"]["reason"] = str(error)
    if head:
        ray = _parts.deployed({"": node}, "") == _parts.RAY
        lead = _parts.lead_port(int(head["master_port"]))
        node["members"] = _members(int(head["ray_port"]) if ray else lead)
    return node


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "cluster": {"type": "str", "required": True},
            "directory": {"type": "path", "required": True},
            "environment": {"type": "dict", "default": {}},
            "head": {"type": "dict"},
        },
        supports_check_mode=True,
    )
    module.exit_json(changed=False, node=read(module))


if __name__ == "__main__":
    main()
