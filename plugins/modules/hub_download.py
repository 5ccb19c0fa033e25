#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: wait until a container has downloaded a model of the hub; changes nothing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hub_download
short_description: Wait until a container has downloaded a model of the hub, showing how far it is
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Reads what the program of the role C(model_weights) prints in its container.
  - An action of the same name on the controller repeats the module until the download is over.
attributes:
  check_mode:
    description: Waits for nothing in check mode, since nothing was started.
    support: full
options:
  container:
    description: Name of the container that downloads.
    type: str
    required: true
  stall_timeout:
    description: Seconds without progress after which the action gives up.
    type: int
    default: 900
  seconds:
    description: How long the module waits for the end before it says how far it is.
    type: float
    default: 5
"""

EXAMPLES = r"""
- name: Wait for the model
  samewire.vllm.hub_download:
    container: spark-pair-weights
"""

RETURN = r"""
progress:
  description: How far it is, as C(downloading weights, 1.2 of 4.9 GB).
  returned: always
  type: str
over:
  description: Whether the model is there.
  returned: always
  type: bool
problem:
  description: Why it ended, empty while it goes on.
  returned: always
  type: str
"""

import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import _engine, _hub

_PAUSE = 0.5
_LINES = 50


def look(engine: _engine.Engine, container: str) -> dict[str, Any]:
    """Return how far the download is."""
    # In this order: what the container says at its end is then in the log.
    state = engine.container(container)
    if state is None:
        return {"over": False, "problem": f"there is no container {container}", "progress": ""}
    ended = state["State"]["Status"] in ("exited", "dead")
    lines = engine.log_tail(container, _LINES)
    return _hub.judged(lines, state["State"]["ExitCode"] if ended else None)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "container": {"type": "str", "required": True},
            "stall_timeout": {"type": "int", "default": 900},
            "seconds": {"type": "float", "default": 5.0},
        },
        supports_check_mode=True,
    )
    engine = _engine.Engine()
    end = time.monotonic() + module.params["seconds"]
    try:
        seen = look(engine, module.params["container"])
        while not (seen["over"] or seen["problem"]) and time.monotonic() < end:
            time.sleep(_PAUSE)
            seen = look(engine, module.params["container"])
    except (_engine.EngineUnavailable, _engine.EngineRefused) as error:
        seen = {"over": False, "problem": f"Docker does not answer ({error})", "progress": ""}
    module.exit_json(changed=False, **seen)


if __name__ == "__main__":
    main()
