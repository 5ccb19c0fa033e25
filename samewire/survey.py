# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Ask the hosts of an inventory for their facts; changes nothing on them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samewire import facts, locate
from samewire.inventory import cluster_name
from samewire.run import Ended, Request, run
from samewire.view import Watch

ARTIFACT = "samewire_facts"


@dataclass(frozen=True)
class Survey:
    """What the hosts said; `document` is None where not all could be asked."""

    cluster: str
    ended: Ended
    seconds: float
    log: Path

    @property
    def document(self) -> dict[str, Any] | None:
        """What the hosts said and the inventory pins, in the form of a file of facts."""
        said: Mapping[str, Any] | None = self.ended.progress.artifacts.get(ARTIFACT)
        if said is None:
            return None
        return {
            "schema": facts.SCHEMA,
            "cluster": said["cluster"],
            "head": said["head"] or None,
            "interconnect_network": said["network"],
            "hosts": [
                {
                    "name": name,
                    "interconnect_interface": said["interfaces"][name],
                    "ray_node_environment": said["environments"][name],
                    **own,
                }
                for name, own in said["facts"].items()
            ],
        }


def survey(
    playbook: str, inventory: Path, watch: Watch, extra_vars: Mapping[str, Any] | None = None
) -> Survey:
    """Run a playbook that gathers the facts, and keep its output beside the cluster's record.

    Raises:
        InventoryError: The inventory describes no cluster; nothing was run.
    """
    collection = locate.collection()
    given = dict(extra_vars or {})
    cluster = cluster_name(inventory, collection, str(given.get("cluster_name", "")))
    started = time.monotonic()
    request = Request(playbook=playbook, inventory=inventory, extra_vars=given)
    ended = run(request, collection, watch)
    folder = locate.cluster_folder(cluster)
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "last-survey.log"
    log.write_text(ended.output, encoding="utf-8")
    return Survey(cluster, ended, time.monotonic() - started, log)
