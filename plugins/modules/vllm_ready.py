#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: wait until a vLLM server answers, or end as soon as its container gives up."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_ready
short_description: Wait until a vLLM server is ready, or say at once why it will not be
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Asks C(/health) until it answers 200. Fails as soon as the container exits or is restarted, with its exit
    code and its last lines, instead of waiting for a time limit.
attributes:
  check_mode:
    description: Waits for nothing in check mode, since nothing was started.
    support: full
options:
  container:
    description: Name of the container that runs the server.
    type: str
    required: true
  url:
    description: Base URL of the server, as C(http://127.0.0.1:8000).
    type: str
    required: true
  timeout:
    description: Seconds after which a server that neither answers nor exits is given up.
    type: int
    default: 1800
  log_lines:
    description: How many of the last lines of the container's log a failure shows.
    type: int
    default: 15
"""

EXAMPLES = r"""
- name: Wait until vLLM is ready
  samewire.vllm.vllm_ready:
    container: spark-pair-vllm
    url: http://127.0.0.1:8000
"""

RETURN = r"""
seconds:
  description: How long this module waited.
  returned: success
  type: float
log:
  description: The last lines of the container's log.
  returned: failure
  type: list
  elements: str
"""

import socket
import time
import urllib.error
import urllib.request
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import _engine

_PAUSE = 0.5


def _healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5) as response:  # noqa: S310
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _gave_up(state: dict[str, Any], restarts: int) -> str | None:
    """Return how the container gave up, or None while it still tries."""
    if state["State"]["Status"] in ("exited", "dead"):
        return f"exited with code {state['State']['ExitCode']}"
    if state["RestartCount"] > restarts:
        return "ended and was restarted"
    return None


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "container": {"type": "str", "required": True},
            "url": {"type": "str", "required": True},
            "timeout": {"type": "int", "default": 1800},
            "log_lines": {"type": "int", "default": 15},
        },
        supports_check_mode=True,
    )
    if module.check_mode:
        module.exit_json(changed=False, seconds=0.0)
    name, url = module.params["container"], module.params["url"].rstrip("/")
    host, engine = socket.gethostname(), _engine.Engine()
    begun = time.monotonic()
    restarts = None
    problem = None
    try:
        while not problem and not _healthy(url):
            state = engine.container(name)
            if state is None:
                module.fail_json(
                    msg=f"{host}: there is no container {name}; run the deployment again", log=[]
                )
            restarts = state["RestartCount"] if restarts is None else restarts
            problem = _gave_up(state, restarts)
            if time.monotonic() - begun > module.params["timeout"]:
                problem = problem or f"is not ready after {module.params['timeout']} s"
            time.sleep(_PAUSE)
        if problem:
            log = engine.log_tail(name, module.params["log_lines"])
            module.fail_json(
                msg=f"{host}: vLLM in container {name} {problem} before it answered at {url}; its last "
                f"lines follow, all of them: docker logs {name} on {host}\n" + "\n".join(log),
                log=log,
            )
    except (_engine.EngineUnavailable, _engine.EngineRefused) as error:
        module.fail_json(msg=f"{host}: Docker does not answer ({error})", log=[])
    module.exit_json(changed=False, seconds=round(time.monotonic() - begun, 1))


if __name__ == "__main__":
    main()
