#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: what is to be seen of a running cluster on one host, in one call; changes nothing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_observation
short_description: List the TCP connections of a host, Ray's nodes, and ask vLLM for a completion
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Reads the kernel's table of sockets in the host's own network, where containers of the cluster live too.
    Connections within the host over loopback are left out.
  - On the head it also asks Ray for its nodes and vLLM for a completion, side by side and before the
    connections are read, so that those are seen which a completion makes.
attributes:
  check_mode:
    description: Asks neither Ray nor vLLM, since nothing was started; it never changes anything.
    support: full
options:
  host:
    description: Name of the host, as messages are to call it.
    type: str
    required: true
  exclude_ports:
    description: Connections that have one of these ports at either end are left out, as ssh of an operator.
    type: list
    elements: int
    default: [22]
  ray_container:
    description: Name of the container whose Ray is asked for its nodes; empty asks none.
    type: str
    default: ""
  completion:
    description: What vLLM is asked; none asks nothing.
    type: dict
    suboptions:
      url:
        description: Base URL of the server, as C(http://127.0.0.1:8000); its certificate is not judged.
        type: str
        required: true
      key:
        description: Key that the API asks for; empty sends none.
        type: str
        default: ""
      model:
        description: Name of the model, as clients ask for it.
        type: str
        required: true
      prompt:
        description: What it is to complete.
        type: str
        required: true
      max_tokens:
        description: Length of the completion, in tokens.
        type: int
        default: 16
      timeout:
        description: Seconds after which a server that says nothing is given up.
        type: int
        default: 120
"""

EXAMPLES = r"""
- name: Read the connections
  samewire.vllm.cluster_observation:
    host: "{{ inventory_hostname }}"
  register: seen

- name: Observe the cluster on its head
  samewire.vllm.cluster_observation:
    host: "{{ inventory_hostname }}"
    ray_container: spark-pair-ray
    completion: {url: http://127.0.0.1:8000, model: qwen, prompt: The capital of France is}
  register: seen
"""

RETURN = r"""
connections:
  description: The connections, in order.
  returned: success
  type: list
  elements: dict
  sample:
    - {local: 192.168.200.12, local_port: 6379, remote: 192.168.200.13, remote_port: 40312}
pending:
  description: Connections that this host asked for and that nobody has answered yet, in the same form.
  returned: success
  type: list
  elements: dict
ray:
  description: >-
    Ray's nodes that are alive, their GPUs by address, and the versions that they run; none where it was
    not asked.
  returned: success
  type: dict
  sample: {nodes: {192.168.200.12: 1, 192.168.200.13: 1}, ray: 2.55.0, python: 3.12.3}
completion:
  description: Text of the completion; none where vLLM was not asked.
  returned: success
  type: str
"""

import ipaddress
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import (
    _engine,
    _local_api,
    _observation,
    _socket_tables,
    _sockets,
)

# A container on a busy host may take long to start a Python and its Ray; seconds.
_PATIENCE = 60.0
_LIST = ["/bin/sh", "/samewire/run.sh", "python", "/samewire/cluster_nodes.py", "list"]


def connections(state: str, excluded: set[int]) -> list[dict[str, Any]]:
    """Return the connections of this host in a state, but those within the host and of some ports."""
    found = {
        (each.local, each.local_port, each.remote, each.remote_port)
        for each in _socket_tables.sockets()
        if each.state == state
        and not {each.local_port, each.remote_port} & excluded
        and not ipaddress.ip_address(each.remote).is_loopback
    }
    names = ("local", "local_port", "remote", "remote_port")
    return [dict(zip(names, ends)) for ends in sorted(found)]


def nodes(engine: _engine.Engine, host: str, container: str) -> dict[str, Any]:
    """Return what Ray lists; raise Unanswered where it does not."""
    try:
        ended = engine.execute(container, _LIST)
    except (_engine.EngineUnavailable, _engine.EngineRefused) as error:
        raise _observation.no_nodes(host, str(error)) from error
    return _observation.nodes(host, *ended)


def completion(host: str, asked: Mapping[str, Any]) -> str:
    """Return the text that vLLM completes; raise Unanswered where it does not."""
    url = asked["url"].rstrip("/")
    document = {name: asked[name] for name in ("model", "prompt", "max_tokens")}
    status, body = _local_api.post(
        f"{url}/v1/completions", {**document, "temperature": 0}, asked["key"], asked["timeout"]
    )
    return _observation.completion(host, url, status, body, asked["timeout"])


def answers(host: str, container: str, asked: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what Ray and vLLM answer, None of who is not asked.

    Raises:
        Unanswered: Not all of them answer; a sentence for each that does not.
    """
    coming: dict[str, Future[Any]] = {}
    with ThreadPoolExecutor() as pool:
        if container:
            engine = _engine.Engine(timeout=_PATIENCE)
            coming["ray"] = pool.submit(nodes, engine, host, container)
        if asked:
            coming["completion"] = pool.submit(completion, host, asked)
    found: dict[str, Any] = {"ray": None, "completion": None}
    problems = []
    for name, answer in coming.items():
        try:
            found[name] = answer.result()
        except _observation.Unanswered as problem:
            problems.append(str(problem))
    if problems:
        raise _observation.Unanswered("\n".join(problems))
    return found


SPEC: dict[str, Any] = {
    "argument_spec": {
        "host": {"type": "str", "required": True},
        "exclude_ports": {"type": "list", "elements": "int", "default": [22]},
        "ray_container": {"type": "str", "default": ""},
        "completion": {
            "type": "dict",
            "options": {
                "url": {"type": "str", "required": True},
                "key": {"type": "str", "default": "", "no_log": True},
                "model": {"type": "str", "required": True},
                "prompt": {"type": "str", "required": True},
                "max_tokens": {"type": "int", "default": 16, "no_log": False},
                "timeout": {"type": "int", "default": 120},
            },
        },
    },
    "supports_check_mode": True,
}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(**SPEC)
    excluded, asked = set(module.params["exclude_ports"]), module.params["completion"]
    container = module.params["ray_container"]
    if module.check_mode:
        container = asked = None
    try:
        found = answers(module.params["host"], container, asked)
    except _observation.Unanswered as problem:
        module.fail_json(msg=str(problem))
    if asked:
        # A short key would hide digits of ports, too; nothing else of what is returned holds it.
        module.no_log_values.discard(asked.pop("key"))
    module.exit_json(
        changed=False,
        connections=connections(_sockets.ESTABLISHED, excluded),
        pending=connections(_sockets.SYN_SENT, excluded),
        **found,
    )


if __name__ == "__main__":
    main()
