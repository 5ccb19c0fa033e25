# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Record the job events of the playbooks in data/ again: python tests/driver/record_events.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from samewire.run import Request, run

DATA = Path(__file__).parent / "data"
# The inventory, and runs that differ each time.
NOT_RECORDED = frozenset({"hosts.yml", "long.yml", "variables.yml"})
# What tells nothing about a run; a test must not signal a recorded pid.
DROPPED = frozenset({"pid", "runner_ident", "start_line", "end_line"})


def record(playbook: Path) -> None:
    events: list[dict[str, Any]] = []
    request = Request(playbook.name, DATA / "hosts.yml")
    run(request, DATA, lambda _progress, event: events.append(event))
    kept = [{key: value for key, value in e.items() if key not in DROPPED} for e in events]
    text = "".join(json.dumps(event) + "\n" for event in kept)
    target = DATA / "events" / f"{playbook.stem}.jsonl"
    target.parent.mkdir(exist_ok=True)
    target.write_text(text.replace(str(DATA), "/data"), encoding="utf-8")


if __name__ == "__main__":
    for playbook in sorted(DATA.glob("*.yml")):
        if playbook.name not in NOT_RECORDED:
            record(playbook)
