# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a container is the one that is wanted: a function of what it was made with.

A label that tells all options by a hash says whether they are still the wanted ones, as that of Docker
Compose does (com.docker.compose.config-hash). Of what is set here `docker update` can change the restart
policy alone, so that is looked at. The image is known by its id: its name may stand for another one by now.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

LABEL = "samewire.options"

NONE, START, CREATE = "none", "start", "create"


def seen(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return what counts of what `docker inspect` says of one container.

    options: the hash of what it was made with, None for one that does not tell.
    """
    return {
        "id": str(state["Id"]),
        "status": str(state["State"]["Status"]),
        "runs": bool(state["State"]["Running"]),
        "restarts": int(state["RestartCount"]),
        "image": str(state["Image"]),
        "restart_policy": str(state["HostConfig"]["RestartPolicy"]["Name"]),
        "options": (state["Config"].get("Labels") or {}).get(LABEL),
    }


def change(
    found: Mapping[str, Any], options: Mapping[str, Any], image: str, inputs: object = None
) -> dict[str, Any]:
    """Return what brings a container to its state, and with which options.

    found: as `seen` returns it, empty where there is no such container. options: of docker_container, with
    its labels. image: id of the wanted image, empty where the host does not have it yet. inputs: what the
    container reads once, when it starts. The action CREATE makes it anew, START leaves it as it is.
    """
    told = json.dumps([options, inputs], sort_keys=True)
    label = hashlib.sha256(told.encode()).hexdigest()
    wanted = {"options": label, "image": image, "restart_policy": options["restart_policy"]}
    if any(found.get(name) != value for name, value in wanted.items()):
        action = CREATE
    else:
        action = NONE if found["runs"] else START
    return {"action": action, "options": {**options, "labels": {**options["labels"], LABEL: label}}}
