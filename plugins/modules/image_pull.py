#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: have an image from its registry, where the registry gives it, showing how far it is."""

from __future__ import annotations

DOCUMENTATION = r"""
module: image_pull
short_description: Pull an image where the registry gives it to this host, showing how far it is
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Pulls the image in the background where the host lacks it. An action of the same name on the controller
    repeats the module until all is over.
  - Credentials are those of C(docker login) of the user that Ansible connects as.
attributes:
  check_mode:
    description: Says whether anything would be pulled; only asks.
    support: full
options:
  name:
    description: Reference of the image.
    type: str
    required: true
  pull:
    description: Whether to ask the registry also where the host has the image.
    type: str
    choices: [not_present, always]
    default: not_present
  registry:
    description:
      - What the registry is for this host. It must give the image (V(required)), may (V(optional)), or is not
        asked (V(unused)). Without the image C(image) stays empty.
    type: str
    choices: [required, optional, unused]
    default: required
  seen:
    description:
      - The image, as M(samewire.vllm.node_info) has seen it on the host; it is not looked for again where it
        need not be pulled.
    type: dict
  stall_timeout:
    description: Seconds without progress after which the action gives up.
    type: int
    default: 900
  job:
    description: What the first call returned; the module then looks how far it is.
    type: path
  seconds:
    description: How long the module waits for the end before it says how far it is.
    type: float
    default: 5
"""

EXAMPLES = r"""
- name: Pull the image
  samewire.vllm.image_pull:
    name: vllm/vllm-openai:v0.17.1
"""

RETURN = r"""
image:
  description: The image, as C(docker image inspect) prints it; empty where the host does not have it.
  returned: where it is over
  type: dict
unavailable:
  description: Why an optional registry does not give the image; empty where it was not asked, or does.
  returned: where it is over
  type: str
over:
  description: Whether nothing is left to be done.
  returned: but by a call that begins a pull
  type: bool
progress:
  description: How far it is, as C(pulling the image, layers 5/12, 1.2 of 4.1 GB).
  returned: while it goes on
  type: str
problem:
  description: Why it ended, empty while it goes on.
  returned: but by a call that begins a pull
  type: str
"""

import time
from typing import Any, Callable

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import (
    _background,
    _engine,
    _image,
    _image_events,
)

_SAID_EVERY = 0.5


def work(engine: _engine.Engine, name: str, say: Callable[[str], None]) -> str:
    """Pull; return what went wrong, empty where nothing did."""
    progress, said = _image_events.Progress(), 0.0
    try:
        for event in engine.pull(name):
            progress.add(event)
            if time.monotonic() - said > _SAID_EVERY:
                said = time.monotonic()
                say(f"pulling the image, {progress.text() or 'asking the registry'}")
    except (_engine.EngineUnavailable, _engine.EngineRefused) as error:
        return _image.pull_problem(name, str(error))
    say(f"pulled the image, {progress.text()}")
    return ""


def look(engine: _engine.Engine, given: dict[str, Any]) -> dict[str, Any]:
    """Return what the host has and whether a pull is `wanted`."""
    image = given["seen"] or engine.image(given["name"]) or {}
    seen = {"image": image, "unavailable": "", "wanted": False, "over": True, "problem": ""}
    if given["registry"] == "unused" or (image and given["pull"] == "not_present"):
        return seen
    try:
        asked = _engine.Engine(timeout=_engine.REGISTRY_SECONDS)
        digest = asked.registry_digest(given["name"])
    except (_engine.EngineUnavailable, _engine.EngineRefused) as error:
        # What must be there is pulled all the same, maybe through a mirror, and says better why not.
        optional = given["registry"] == "optional"
        return {**seen, "unavailable": str(error) if optional else "", "wanted": not optional}
    has = any(each.endswith(f"@{digest}") for each in image.get("RepoDigests") or [])
    return {**seen, "wanted": not has}


SPEC: dict[str, Any] = {
    "argument_spec": {
        "name": {"type": "str", "required": True},
        "pull": {
            "type": "str",
            "choices": ["not_present", "always"],
            "default": "not_present",
        },
        "registry": {
            "type": "str",
            "choices": ["required", "optional", "unused"],
            "default": "required",
        },
        "seen": {"type": "dict"},
        "stall_timeout": {"type": "int", "default": 900},
        "job": {"type": "path"},
        "seconds": {"type": "float", "default": 5.0},
    },
    "supports_check_mode": True,
}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(**SPEC)
    given, engine = module.params, _engine.Engine()
    # The engine says nothing while it unpacks a large layer.
    patient = _engine.Engine(timeout=given["stall_timeout"])
    try:
        if given["job"]:
            seen = _background.watch(given["job"], given["seconds"])
            if seen["over"]:
                seen |= {"image": engine.image(given["name"]) or {}, "unavailable": ""}
            module.exit_json(changed=True, **seen)
        seen = look(engine, given)
    except (_engine.EngineUnavailable, _engine.EngineRefused) as error:
        module.exit_json(changed=False, over=False, problem=f"Docker does not answer ({error})")
    wanted = seen.pop("wanted")
    if wanted and not module.check_mode:
        module.exit_json(
            changed=True,
            job=_background.begin(lambda say: work(patient, given["name"], say)),
        )
    module.exit_json(changed=wanted, **seen)


if __name__ == "__main__":
    main()
