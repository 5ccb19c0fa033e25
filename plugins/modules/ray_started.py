#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: wait until the Ray container of a host has started its Ray, or say at once why it will not."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ray_started
short_description: Wait until the Ray container of a host has started its Ray
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Follows the log of the container until Ray says that it has started, and where an address is given, until
    it answers there.
  - Fails as soon as the container exits, with the cause where its log names a known one, else with its last
    lines.
attributes:
  check_mode:
    description: Waits for nothing in check mode, since nothing was started.
    support: full
options:
  host:
    description: Name of the host, as messages are to call it.
    type: str
    required: true
  container:
    description: Name of the container.
    type: str
    required: true
  timeout:
    description: Seconds after which a container that neither starts its Ray nor exits is given up.
    type: int
    default: 120
  patience:
    description:
      - Seconds after which a known fault in the log of a container that still tries ends the wait, as that
        of a worker that does not reach its head; 0 lets it try until the timeout.
    type: int
    default: 0
  address:
    description: Interconnect address on which Ray's GCS must answer, for the head.
    type: str
    default: ""
  port:
    description: Port of Ray's GCS.
    type: int
    default: 6379
  fresh:
    description: Whether the container was made just now, so that any restart is one too many.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Wait until Ray has started
  samewire.vllm.ray_started:
    host: "{{ inventory_hostname }}"
    container: spark-pair-ray
"""

RETURN = r"""
findings:
  description: Known faults that the log betrays, where Ray did not start.
  returned: failure
  type: list
  elements: dict
"""

import calendar
import socket
import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import _bundle, _diagnosis, _engine

_PAUSE = 0.3
_CONNECTS = 5.0
_LINES = 20_000
_SHOWN = 15
# A container that runs for so many seconds has started; the log may no longer hold the line that says so.
_SETTLED = 600
# Printed by `ray start` of every release on head and workers; source: ray/scripts/scripts.py.
_STARTED = "Ray runtime started"


def look(engine: _engine.Engine, name: str, restarts: int) -> tuple[bool, str, list[str]]:
    """Return whether Ray has started, why it will not, and its lines; restarts: those to be let pass."""
    state = engine.container(name)
    if state is None:
        return False, f"there is no container {name}", []
    # Docker's timestamps sort like text; what an earlier start said does not count.
    begun = state["State"]["StartedAt"][:19]
    stamped = [line.partition(" ") for line in engine.log_tail(name, _LINES, timestamps=True)]
    lines = [text for stamp, _unused, text in stamped if stamp[:19] >= begun]
    status = state["State"]["Status"]
    if status == "running" and (_age(begun) > _SETTLED or any(_STARTED in line for line in lines)):
        return True, "", []
    problem = ""
    if status in ("exited", "dead"):
        problem = f"container {name} exited with code {state['State']['ExitCode']}"
    elif state["RestartCount"] > restarts:
        problem = f"container {name} ended and was restarted"
    return False, problem, [text for _stamp, _space, text in stamped]


def _age(begun: str) -> float:
    """Return the seconds since a time of Docker, which is UTC."""
    return time.time() - calendar.timegm(time.strptime(begun, "%Y-%m-%dT%H:%M:%S"))


def _findings(name: str, lines: list[str]) -> list[dict[str, Any]]:
    return list(_diagnosis.to_json(_diagnosis.diagnose([(name, "\n".join(lines))]))["findings"])


def _is_sure(findings: list[dict[str, Any]]) -> bool:
    return bool(findings) and findings[0]["confidence"] == "high"


def overdue(name: str, lines: list[str], waited: float, timeout: int, patience: int) -> str:
    """Return why a container that still tries is given up after so many seconds, else nothing."""
    if waited > timeout:
        return f"container {name} has not started it after {timeout} s"
    if waited > patience and _is_sure(_findings(name, lines)):
        return f"container {name} has tried in vain for {waited:.0f} s"
    return ""


def answers(address: str, port: int) -> bool:
    """Return whether somebody accepts connections at an address; nobody need where none is given."""
    if not address:
        return True
    try:
        with socket.create_connection((address, port), timeout=_CONNECTS):
            return True
    except OSError:
        return False


def silent(name: str, place: str, waited: float, timeout: int) -> str:
    """Return why a Ray that has started, but does not answer, is given up after so many seconds."""
    if waited <= timeout:
        return ""
    return f"container {name} says that it has, but nothing answers at {place} after {timeout} s"


def _message(host: str, problem: str, lines: list[str], findings: list[dict[str, Any]]) -> str:
    said = [f"{host}: Ray does not start: {problem}"]
    if findings:
        return "\n".join(said + _bundle.told(findings[0]))
    return "\n".join(said + [f"  {line}" for line in lines[-_SHOWN:]])


SPEC: dict[str, Any] = {
    "argument_spec": {
        "host": {"type": "str", "required": True},
        "container": {"type": "str", "required": True},
        "timeout": {"type": "int", "default": 120},
        "patience": {"type": "int", "default": 0},
        "address": {"type": "str", "default": ""},
        "port": {"type": "int", "default": 6379},
        "fresh": {"type": "bool", "default": True},
    },
    "supports_check_mode": True,
}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(**SPEC)
    if module.check_mode:
        module.exit_json(changed=False)
    name, timeout = module.params["container"], module.params["timeout"]
    address, port = module.params["address"], module.params["port"]
    engine = _engine.Engine()
    begun = time.monotonic()
    patience = module.params["patience"] or timeout
    try:
        known = (
            0 if module.params["fresh"] else (engine.container(name) or {}).get("RestartCount", 0)
        )
        while True:
            started, problem, lines = look(engine, name, known)
            if started and answers(address, port):
                module.exit_json(changed=False)
            waited = time.monotonic() - begun
            problem = problem or (
                silent(name, f"{address}:{port}", waited, timeout)
                if started
                else overdue(name, lines, waited, timeout, patience)
            )
            if problem:
                break
            time.sleep(_PAUSE)
    except (_engine.EngineUnavailable, _engine.EngineRefused) as error:
        problem, lines = f"Docker does not answer ({error})", []
    findings = _findings(name, lines)
    module.fail_json(
        msg=_message(module.params["host"], problem, lines, findings), findings=findings
    )


if __name__ == "__main__":
    main()
