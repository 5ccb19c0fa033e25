#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: what a host has and lacks to become a node of a cluster; changes nothing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_info
short_description: Read what a host has and lacks to become a node of a cluster
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Reads whether a Docker Engine answers, whether an image is present or can be pulled, which ports are
    taken and by whom, which paths exist, the size of C(/dev/shm), what RDMA needs, and the GPUs.
  - What cannot be read is an absent fact with a reason, never a failure. Nothing is changed.
  - Also returns what M(samewire.vllm.interconnect_info) and M(samewire.vllm.weights_info) return, where it is
    asked to, since one call takes much less time than three.
attributes:
  check_mode:
    description: Can run in check mode; it never changes anything.
    support: full
options:
  cluster:
    description:
      - Name of the cluster; its own containers do not count as takers of a port, and others must not bear
        their names.
    type: str
    required: true
  image:
    description: Reference of the image that the containers will run.
    type: str
    required: true
  ports:
    description: TCP ports that the containers of this host will listen on.
    type: list
    elements: int
    default: []
  paths:
    description: Paths that must exist on this host.
    type: list
    elements: path
    default: []
  directory:
    description: Directory that will hold the files of the cluster; the nearest existing parent is judged.
    type: path
    required: true
  interconnect:
    description: Whether to read the facts from which an interconnect is planned, too.
    type: bool
    default: false
  weights:
    description: The model to look for, too, as M(samewire.vllm.weights_info) does.
    type: dict
    suboptions:
      path:
        description: The folder of the model, or its only file.
        type: path
        required: true
      revision:
        description: Branch, tag or commit, where the path is the folder of a repository in the hub's cache.
        type: str
        default: ""
      exclude:
        description: Patterns of names, relative to the model, that are left out.
        type: list
        elements: str
        default: []
      hashes:
        description: File that keeps hashes of whole files; it is read.
        type: path
"""

EXAMPLES = r"""
- name: Read what this host has and lacks
  samewire.vllm.node_info:
    cluster: spark-pair
    image: vllm/vllm-openai:v0.17.1
    ports: [6379, 8000]
    paths: [/models/qwen]
    directory: ~/.samewire
  register: node
"""

RETURN = r"""
node:
  description: What was found.
  returned: always
  type: dict
  sample:
    user: root
    requests: true
    docker: {version: 20.10.24, reason: null}
    image:
      # As docker image inspect prints it.
      local: {Id: "sha256:…", RepoDigests: ["vllm/vllm-openai@sha256:…"]}
      registry: null
      reason: null
    foreign: {spark-pair-ray: null}
    kept: [spark-pair-vllm-before]
    containers:
      ray: {id: 4f0c…, status: running, runs: true, restarts: 0, image: "sha256:…", options: 9f86…, …}
    ports: {"6379": "redis-server (pid 812)"}
    served: [8000]
    paths: {"/models/qwen": true}
    directory: {path: /root/.samewire, writable: true}
    shm: 67419271168
    rdma: {devices: [uverbs0], memlock: null}
    firewall: [192.168.200.12/31]
    gpus:
      found: [{name: NVIDIA GB10, memory: 128520208384, capability: 12.1, shared: true}]
      reason: null
facts:
  description: The facts of the host, as M(samewire.vllm.interconnect_info) returns them.
  returned: with O(interconnect)
  type: dict
weights:
  description: What there is of the model, as M(samewire.vllm.weights_info) returns it.
  returned: with O(weights)
  type: dict
"""

import getpass
import os
import re
from collections.abc import Iterator, Set
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import (
    _engine,
    _firewall,
    _gpu,
    _kept,
    _parts,
    _programs,
    _renewal,
    _socket_tables,
    _sockets,
)

# Its holder may raise limits; source: linux/capability.h.
_CAP_SYS_RESOURCE = 24


def _docker(engine: _engine.Engine) -> dict[str, Any]:
    try:
        return {"version": engine.version(), "reason": None}
    except (_engine.EngineUnavailable, _engine.EngineRefused) as error:
        return {"version": None, "reason": str(error)}


def _image(engine: _engine.Engine, reference: str) -> dict[str, Any]:
    found: dict[str, Any] = {"local": None, "registry": None, "reason": None}
    try:
        found["local"] = engine.image(reference)
        if found["local"] is None:
            asked = _engine.Engine(timeout=_engine.REGISTRY_SECONDS)
            found["registry"] = asked.registry_digest(reference)
    except (_engine.EngineUnavailable, _engine.EngineRefused) as error:
        found["reason"] = str(error)
    return found


def _named(engine: _engine.Engine, cluster: str) -> dict[str, dict[str, Any]]:
    """Return what `docker inspect` says of the containers with the names of the cluster's own, by part."""
    try:
        found = {part: engine.container(f"{cluster}-{part}") for part in _parts.PARTS}
    except (_engine.EngineUnavailable, _engine.EngineRefused):
        return {}
    return {part: state for part, state in found.items() if state}


def _owner_cluster(state: dict[str, Any]) -> str | None:
    """Return of which cluster a container is, None where no label says so."""
    label = (state["Config"].get("Labels") or {}).get("samewire.cluster")
    return None if label is None else str(label)


def _own_containers(engine: _engine.Engine, cluster: str) -> dict[str, str]:
    """Return the names of the cluster's containers by id."""
    try:
        found = engine.containers(f"samewire.cluster={cluster}")
    except (_engine.EngineUnavailable, _engine.EngineRefused):
        return {}
    return {container["Id"]: container["Names"][0].lstrip("/") for container in found}


def _listeners(ports: list[int]) -> dict[int, int]:
    """Return the inode of the listening socket, by port."""
    return {
        each.local_port: each.inode
        for each in _socket_tables.sockets()
        if each.state == _sockets.LISTEN and each.local_port in ports
    }


def _processes() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def _owner(inode: int) -> int | None:
    """Return the pid that holds a socket, or None where this user may not see it."""
    for pid in _processes():
        try:
            for descriptor in os.listdir(f"/proc/{pid}/fd"):
                if os.readlink(f"/proc/{pid}/fd/{descriptor}") == f"socket:[{inode}]":
                    return pid
        except OSError:
            continue
    return None


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _held(ports: list[int], own: Set[str]) -> tuple[dict[str, str], list[int]]:
    """Return who else listens on the ports, by port, and those on which the cluster's own containers do."""
    taken, served = {}, []
    for port, inode in sorted(_listeners(ports).items()):
        pid = _owner(inode)
        if pid is None:
            # A user who cannot see the holder cannot tell it from the cluster's own container.
            if not own:
                taken[str(port)] = "a process that this user may not see"
        elif set(re.findall(r"[0-9a-f]{64}", _read(f"/proc/{pid}/cgroup"))) & own:
            served.append(port)
        else:
            taken[str(port)] = f"{_read(f'/proc/{pid}/comm').strip()} (pid {pid})"
    return taken, served


def _writable(path: str) -> bool:
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return os.path.isdir(path) and os.access(path, os.W_OK | os.X_OK)


def _shm() -> int | None:
    """Return the size of /dev/shm in bytes, or None where there is none."""
    try:
        found = os.statvfs("/dev/shm")
    except OSError:
        return None
    return found.f_frsize * found.f_blocks


def _verbs() -> list[str]:
    """Return the devices through which programs use the HCAs."""
    try:
        return sorted(name for name in os.listdir("/dev/infiniband") if name.startswith("uverbs"))
    except OSError:
        return []


def _memlock() -> int | None:
    """Return how many bytes the engine may let a container lock; None is no limit, or not to be known."""
    for pid in _processes():
        if _read(f"/proc/{pid}/comm").strip() != "dockerd":
            continue
        effective = re.search(r"^CapEff:\s*([0-9a-f]+)", _read(f"/proc/{pid}/status"), re.MULTILINE)
        hard = re.search(
            r"^Max locked memory\s+\S+\s+(\d+)", _read(f"/proc/{pid}/limits"), re.MULTILINE
        )
        if effective and hard and not int(effective.group(1), 16) >> _CAP_SYS_RESOURCE & 1:
            return int(hard.group(1))
    return None


def _gpus(module: AnsibleModule) -> dict[str, Any]:
    """Return the NVIDIA GPUs of this host by name, memory and capability, or why they are not known."""
    program = module.get_bin_path("nvidia-smi")
    if program is None:
        return {"found": None, "reason": "no nvidia-smi on this host"}
    code, said, error = module.run_command(
        [program, f"--query-gpu={','.join(_gpu.FIELDS)}", "--format=csv,noheader,nounits"]
    )
    if code:
        return {"found": None, "reason": (error or said).strip() or f"nvidia-smi ended with {code}"}
    return {"found": _gpu.parse(said, _read("/proc/meminfo")), "reason": None}


def _has_requests() -> bool:
    try:
        import requests  # noqa: F401, PLC0415
    except ImportError:
        return False
    return True


def _admitted(cluster: str) -> list[str] | None:
    """Return which networks the firewall of the cluster lets in, None where there is no such firewall."""
    try:
        with open(_firewall.file(cluster), encoding="utf-8") as file:
            return _firewall.admitted(file.read())
    except OSError:
        return None


def _asked_for(module: AnsibleModule) -> dict[str, Any]:
    """Return what other modules return by themselves; who does not ask need not load what reads it."""
    found: dict[str, Any] = {}
    if module.params["interconnect"]:
        from ansible_collections.samewire.vllm.plugins.module_utils import (  # noqa: PLC0415
            _probe,
        )

        found["facts"] = _probe.gather(_probe.System(_programs.runner(module)))
    if module.params["weights"]:
        from ansible_collections.samewire.vllm.plugins.module_utils import (  # noqa: PLC0415
            _weights_files,
        )

        found["weights"], _unused = _weights_files.look(module.params["weights"])
    return found


SPEC: dict[str, Any] = {
    "argument_spec": {
        "cluster": {"type": "str", "required": True},
        "image": {"type": "str", "required": True},
        "ports": {"type": "list", "elements": "int", "default": []},
        "paths": {"type": "list", "elements": "path", "default": []},
        "directory": {"type": "path", "required": True},
        "interconnect": {"type": "bool", "default": False},
        "weights": {
            "type": "dict",
            "options": {
                "path": {"type": "path", "required": True},
                "revision": {"type": "str", "default": ""},
                "exclude": {"type": "list", "elements": "str", "default": []},
                "hashes": {"type": "path"},
            },
        },
    },
    "supports_check_mode": True,
}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(**SPEC)
    engine = _engine.Engine()
    directory = os.path.abspath(module.params["directory"])
    cluster = module.params["cluster"]
    own = _own_containers(engine, cluster)
    named = _named(engine, cluster)
    taken, served = _held(module.params["ports"], own.keys())
    module.exit_json(
        changed=False,
        node={
            "user": getpass.getuser(),
            "requests": _has_requests(),
            "docker": _docker(engine),
            "image": _image(engine, module.params["image"]),
            "foreign": {
                f"{cluster}-{part}": _owner_cluster(state)
                for part, state in named.items()
                if _owner_cluster(state) != cluster
            },
            "kept": sorted(filter(_kept.is_before, own.values())),
            "containers": {
                part: _renewal.seen(state)
                for part, state in named.items()
                if _owner_cluster(state) == cluster
            },
            "ports": taken,
            "served": served,
            "paths": {path: os.path.exists(path) for path in module.params["paths"]},
            "directory": {"path": directory, "writable": _writable(directory)},
            "shm": _shm(),
            "rdma": {"devices": _verbs(), "memlock": _memlock()},
            "firewall": _admitted(cluster),
            "gpus": _gpus(module),
        },
        **_asked_for(module),
    )


if __name__ == "__main__":
    main()
