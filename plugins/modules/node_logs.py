#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: the logs of a cluster on one host, without its secrets; changes nothing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_logs
short_description: Collect the logs of a cluster from a host
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Reads the logs and the states of the cluster's containers, the logs of Ray's latest session, the end of
    each, and whom the kernel killed in these containers for want of memory within the last hour. Secrets of
    the cluster, and what looks like a token or a key, are taken out on the host.
  - An action of the same name writes them into a folder on the controller. What cannot be read is named in
    C(unread.json) there, and is never a failure.
attributes:
  check_mode:
    description: Can run in check mode; it changes nothing on the host.
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
  dest:
    description: Folder on the controller; the host's own folder is made in it.
    type: str
  documents:
    description: What else belongs there, by name of the file; what is no string is written as JSON.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Collect the logs
  samewire.vllm.node_logs:
    cluster: spark-pair
    directory: ~/.samewire
    dest: ~/bundle
    documents: {facts.json: "{{ interconnect_info.facts }}"}
"""

RETURN = r"""
files:
  description: Names of the files that were written, in the host's folder.
  returned: always
  type: list
  elements: str
tails:
  description: Last lines of the log of each container that does not run, or was restarted.
  returned: always
  type: dict
"""

import json
import os
import time
from collections.abc import Iterator
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import (
    _bundle,
    _engine,
    _kept,
    _kernel_log,
    _redaction,
)

_LINES = 100_000
_RAY_LOG = 2_000_000
_RAY_LOGS = 20_000_000
_SHOWN = 15
_KERNEL_LOG = "/dev/kmsg"
# A kill of long ago is not what ends a run now.
_LATELY = 3600


def _secret_files(folder: str) -> list[str]:
    found = []
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            found.append(file.read())
    return found


def _containers(
    engine: _engine.Engine, cluster: str, files: dict[str, str], unread: list[str]
) -> tuple[list[str], dict[str, list[str]], list[str]]:
    """Fill in logs and states of containers; return secrets, ends of dead ones' logs, and ids."""
    secrets: list[str] = []
    ids: list[str] = []
    tails = {}
    try:
        listed = engine.containers(f"samewire.cluster={cluster}")
        for each in listed:
            state = engine.container(each["Id"]) or {}
            name = str(state["Name"]).lstrip("/")
            if _kept.is_before(name):
                # It ended because it was stopped.
                continue
            ids.append(str(each["Id"]))
            secrets += _redaction.secret_values(state["Config"]["Env"] or [])
            files[f"{name}.inspect.json"] = json.dumps(state, indent=2)
            lines = engine.log_tail(each["Id"], _LINES, timestamps=True)
            files[f"{name}.log"] = _bundle.tail("\n".join(lines))
            if not state["State"]["Running"] or state["RestartCount"]:
                # Docker's timestamp is the first word.
                tails[f"{name}.log"] = [line.partition(" ")[2] for line in lines[-_SHOWN:]]
    except (_engine.EngineUnavailable, _engine.EngineRefused) as error:
        unread.append(f"containers: {error}")
    return secrets, tails, ids


def _latest_session(folder: str) -> str | None:
    """Return Ray's latest session; the link to it leads nowhere outside the container."""
    if not os.path.isdir(folder):
        return None
    sessions = [name for name in os.listdir(folder) if name.startswith("session_2")]
    return os.path.join(folder, max(sessions)) if sessions else None


def _ray_logs(folder: str, files: dict[str, str], unread: list[str]) -> None:
    session = _latest_session(folder)
    logs = os.path.join(session, "logs") if session else ""
    left = _RAY_LOGS
    try:
        names = sorted(filter(_bundle.is_ray_log, os.listdir(logs))) if logs else []
    except OSError as error:
        unread.append(str(error))
        return
    for name in names:
        try:
            text = _end_of(os.path.join(logs, name))
        except OSError as error:
            unread.append(str(error))
            continue
        left -= len(text)
        if left < 0:
            unread.append(f"ray/{name}: the logs of Ray are too many")
        elif text:
            files[f"ray/{name}"] = text


def _end_of(path: str) -> str:
    with open(path, "rb") as file:
        file.seek(max(os.path.getsize(path) - _RAY_LOG, 0))
        return file.read().decode("utf-8", "replace")


def _kernel_records() -> Iterator[str]:
    """Yield the records of the kernel's log; raise OSError where it may not be read."""
    opened = os.open(_KERNEL_LOG, os.O_RDONLY | os.O_NONBLOCK)
    try:
        while True:
            try:
                record = os.read(opened, 8192)
            except BlockingIOError:
                return
            except BrokenPipeError:
                # The record was overwritten meanwhile; the next read goes on after it.
                continue
            if not record:
                return
            yield record.decode("utf-8", "replace")
    finally:
        os.close(opened)


def _memory_of(
    engine: _engine.Engine,
    cluster: str,
    containers: list[str],
    files: dict[str, str],
    unread: list[str],
) -> None:
    """Keep who was killed for want of memory: the kernel says who, the engine only in which container."""
    since = max(time.clock_gettime(time.CLOCK_MONOTONIC) - _LATELY, 0)
    try:
        kills = _kernel_log.kills(_kernel_records(), containers, since)
    except OSError as error:
        unread.append(f"kernel.log: {error}")
        kills = _engine_says(engine, cluster, unread)
    if kills:
        files["kernel.log"] = "\n".join(kills)


def _engine_says(engine: _engine.Engine, cluster: str, unread: list[str]) -> list[str]:
    """Return the engine's word for the kernel's, which only root may read on most hosts."""
    try:
        found = engine.out_of_memory(f"samewire.cluster={cluster}", _LATELY)
    except (_engine.EngineUnavailable, _engine.EngineRefused) as error:
        unread.append(f"events: {error}")
        return []
    last = {name: moment for moment, name in sorted(found)}
    return [
        f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(moment))} docker event oom: container {name}"
        for name, moment in sorted(last.items())
    ]


def collect(engine: _engine.Engine, cluster: str, directory: str) -> dict[str, Any]:
    """Return the logs, packed, with the ends of those of dead containers."""
    files: dict[str, str] = {}
    unread: list[str] = []
    base = os.path.join(directory, cluster)
    secrets, tails, ids = _containers(engine, cluster, files, unread)
    _memory_of(engine, cluster, ids, files, unread)
    try:
        _ray_logs(os.path.join(base, "ray"), files, unread)
        secrets += _secret_files(os.path.join(base, "secrets"))
    except OSError as error:
        unread.append(str(error))
    if unread:
        files["unread.json"] = json.dumps(unread, indent=2)
    return {
        "packed": _bundle.pack(
            {name: _redaction.redacted(text, secrets) for name, text in files.items()}
        ),
        "tails": {
            name: [_redaction.redacted(line, secrets) for line in lines]
            for name, lines in tails.items()
        },
    }


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "cluster": {"type": "str", "required": True},
            "directory": {"type": "path", "required": True},
            "dest": {"type": "str"},
            "documents": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    engine = _engine.Engine()
    module.exit_json(
        changed=False,
        **collect(engine, module.params["cluster"], os.path.abspath(module.params["directory"])),
    )


if __name__ == "__main__":
    main()
