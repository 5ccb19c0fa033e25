#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: wait until a vLLM server is ready, or say at once why it will not be."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_ready
short_description: Wait until a vLLM server is ready, or say at once why it will not be
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Follows the log of the container and asks C(/health) until it answers 200, showing each phase.
  - Fails as soon as the container exits, as the log holds the message of a known fault, or as nothing moves
    any more; then it says so, with the place at which each rank stands.
  - An action of the same name on the controller repeats the module, which looks for some seconds.
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
  stall_timeout:
    description:
      - Seconds without any progress after which the start is given up. Until the ranks have found each
        other a fifth of it is enough.
    type: int
    default: 600
  restarts:
    description: How often Docker had restarted the container before; a further restart is a failure.
    type: int
    default: 0
  guarded:
    description: Whether the server must ask for its key on every path; one that does not is a failure.
    type: bool
    default: false
  known:
    description: Progress that the caller knows.
    type: str
    default: ""
  seconds:
    description: How long the module looks, where the start is not over before.
    type: float
    default: 10
"""

EXAMPLES = r"""
- name: Wait until vLLM is ready
  samewire.vllm.vllm_ready:
    container: spark-pair-vllm
    url: http://127.0.0.1:8000
"""

RETURN = r"""
ready:
  description: Whether the server answers.
  returned: always
  type: bool
problem:
  description: Why it will not be ready, empty while it may.
  returned: always
  type: str
progress:
  description: How far the start is, as C(loading weights 12/39).
  returned: always
  type: str
passed:
  description: The progress that came after O(known), C(ago) so many seconds before the module returned.
  returned: always
  type: list
  elements: dict
  sample: [{progress: starting the engine, ago: 2.5}]
standing:
  description: Where each rank stands.
  returned: always
  type: str
joined:
  description: Whether the ranks have found each other.
  returned: always
  type: bool
findings:
  description: Known faults that the log betrays, the cause first, as C(samewire diagnose --json) gives them.
  returned: always
  type: list
  elements: dict
first_exception:
  description: The first exception that the log tells of its own, empty where there is none.
  returned: always
  type: str
log:
  description: The last lines of the log.
  returned: always
  type: list
  elements: str
"""

import time
from collections.abc import Callable
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import (
    _diagnosis,
    _engine,
    _local_api,
    _log_events,
    _signatures,
    _startup,
)

_PAUSE = 0.5
_LINES = 5000
_SHOWN = 15


def _gave_up(name: str, state: dict[str, Any] | None, restarts: int) -> str:
    """Return how the container gave up, empty while it still tries; restarts: those of before."""
    if state is None:
        return f"there is no container {name}"
    if state["State"]["Status"] in ("exited", "dead", "restarting"):
        return f"container {name} exited with code {state['State']['ExitCode']}"
    if state["RestartCount"] > restarts:
        return f"container {name} ended and was restarted"
    return ""


def _lines(engine: _engine.Engine, name: str, begun: str) -> list[str]:
    """Return what a container has printed since a time of Docker; empty stands for the whole log."""
    # What an earlier start said does not count, as long as this one goes on.
    stamped = [line.partition(" ") for line in engine.log_tail(name, _LINES, timestamps=True)]
    return [text for stamp, _space, text in stamped if stamp[:19] >= begun[:19]]


def _certain(findings: list[_diagnosis.Finding]) -> bool:
    """Whether the first finding is a cause that waiting cannot cure."""
    return bool(
        findings
        and findings[0].confidence == _signatures.CONFIDENCE[_signatures.CERTAIN]
        and findings[0].rule.role == _signatures.CAUSE
    )


def _open_door(url: str) -> str:
    """Return that a server answers without its key, empty where it refuses, or is gone."""
    status, _unused = _local_api.get(f"{url}/samewire")
    if status in (0, 401):
        return ""
    return (
        f"its API answers without the key (status {status} for a path that does not exist, expected 401): "
        "the image's vLLM does not load --middleware; use another image, or set "
        "vllm_server_require_api_key: false where everybody who reaches the port may use it"
    )


def look(
    engine: _engine.Engine, name: str, url: str, restarts: int = 0, *, guarded: bool = False
) -> dict[str, Any]:
    """Return what is to be seen of a start right now; restarts: those of before."""
    if _local_api.get(f"{url}/health")[0] == 200:
        problem = _open_door(url) if guarded else ""
        return _result(_startup.Progress(phase="ready"), ready=not problem, problem=problem)
    state = engine.container(name)
    gave_up = _gave_up(name, state, restarts)
    lines = _lines(engine, name, "" if gave_up else state["State"]["StartedAt"]) if state else []
    diagnosis = _diagnosis.Diagnosis()
    diagnosis.read(name, ["\n".join(lines).encode()])
    findings = diagnosis.findings()
    problem = gave_up
    if _certain(findings):
        problem = problem or f"the log of {name} holds a known fault"
    return _result(_startup.follow(lines), problem=problem, findings=findings, lines=lines)


def _result(
    progress: _startup.Progress,
    *,
    ready: bool = False,
    problem: str = "",
    findings: list[_diagnosis.Finding] | None = None,
    lines: list[str] | None = None,
) -> dict[str, Any]:
    return {
        "ready": ready,
        "problem": problem,
        "progress": progress.text(),
        "standing": _startup.standing(progress),
        "joined": _startup.joined(progress),
        "findings": _diagnosis.to_json(findings or [])["findings"],
        "first_exception": _log_events.first_exception(lines or []),
        "log": (lines or [])[-_SHOWN:],
    }


def watch(once: Callable[[], dict[str, Any]], known: str, seconds: float) -> dict[str, Any]:
    """Return the last look of so many seconds, or that which ends the wait, and what came before it.

    once: looks; known: progress that is not told again.
    """
    end = time.monotonic() + seconds
    came: list[tuple[str, float]] = []
    while True:
        seen = once()
        now = time.monotonic()
        if seen["progress"] != known:
            known = seen["progress"]
            came.append((known, now))
        if seen["ready"] or seen["problem"] or now > end:
            passed = [{"progress": text, "ago": round(now - at, 1)} for text, at in came]
            return {**seen, "passed": passed}
        time.sleep(_PAUSE)


SPEC: dict[str, Any] = {
    "argument_spec": {
        "container": {"type": "str", "required": True},
        "url": {"type": "str", "required": True},
        "timeout": {"type": "int", "default": 1800},
        "stall_timeout": {"type": "int", "default": 600},
        "restarts": {"type": "int", "default": 0},
        "guarded": {"type": "bool", "default": False},
        "known": {"type": "str", "default": ""},
        "seconds": {"type": "float", "default": 10.0},
    },
    "supports_check_mode": True,
}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(**SPEC)
    given, engine = module.params, _engine.Engine()
    url = given["url"].rstrip("/")

    def once() -> dict[str, Any]:
        try:
            return look(
                engine, given["container"], url, given["restarts"], guarded=given["guarded"]
            )
        except (_engine.EngineUnavailable, _engine.EngineRefused) as error:
            return _result(_startup.Progress(), problem=f"Docker does not answer ({error})")

    module.exit_json(changed=False, **watch(once, given["known"], given["seconds"]))


if __name__ == "__main__":
    main()
