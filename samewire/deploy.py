# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""One deployment: run it, keep its output, and say how it ended."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samewire import durations, locate
from samewire.exit_codes import MEANING, ExitCode
from samewire.inventory import cluster_name
from samewire.record import Record
from samewire.run import Ended, Request, run
from samewire.view import Watch

SCHEMA = "samewire.deploy/1"
RECORD_ARTIFACT = "samewire_record"
NEW_KEY_ARTIFACT = "samewire_new_api_key"
DIAGNOSIS_ARTIFACT = "samewire_diagnosis"


@dataclass(frozen=True)
class Deployment:
    """A deployment that came to its end."""

    cluster: str
    ended: Ended
    seconds: float
    folder: Path

    @property
    def log(self) -> Path:
        return self.folder / "last-run.log"

    @property
    def raw_record(self) -> Mapping[str, Any] | None:
        """The record as the playbook left it; None after check mode or a failure."""
        record: Mapping[str, Any] | None = self.ended.progress.artifacts.get(RECORD_ARTIFACT)
        return record

    @property
    def record(self) -> Record | None:
        raw = self.raw_record
        return Record.parse(raw, f"The record of {self.cluster}") if raw is not None else None

    @property
    def new_key(self) -> bool:
        """Whether this deployment made a key of the API that nobody has seen."""
        return NEW_KEY_ARTIFACT in self.ended.progress.artifacts

    def to_json(self) -> dict[str, Any]:
        """Return the result as schema samewire.deploy/1."""
        progress = self.ended.progress
        code = self.ended.exit_code
        return {
            "schema": SCHEMA,
            "cluster": self.cluster,
            "exit_code": int(code),
            "outcome": MEANING[code],
            "seconds": round(self.seconds, 1),
            "changed": progress.changed,
            "phases": [
                {
                    "title": phase.title,
                    "hosts": list(phase.hosts),
                    "seconds": round(phase.seconds, 1),
                    "changed": phase.changed,
                    "failed": bool(phase.down),
                }
                for phase in progress.phases
            ],
            "findings": list(progress.findings) if code is not ExitCode.DONE else [],
            "diagnosis": progress.artifacts.get(DIAGNOSIS_ARTIFACT),
            "record": self.raw_record,
            "log": str(self.log),
        }


def deploy(request: Request, watch: Watch) -> Deployment:
    """Run the deployment of an inventory and keep its output beside the cluster's record.

    Raises:
        InventoryError: The inventory describes no cluster; nothing was run.
    """
    collection = locate.collection()
    given = str(request.extra_vars.get("cluster_name", ""))
    cluster = cluster_name(request.inventory, collection, given)
    folder = locate.cluster_folder(cluster)
    started = time.monotonic()
    ended = run(request, collection, watch, durations.read(folder))
    folder.mkdir(parents=True, exist_ok=True)
    if ended.exit_code is ExitCode.DONE and not request.check:
        durations.keep(folder, ended.progress.phases)
    deployment = Deployment(cluster, ended, time.monotonic() - started, folder)
    deployment.log.write_text(ended.output, encoding="utf-8")
    return deployment
