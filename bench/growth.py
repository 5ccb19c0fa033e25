# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""How the proof of the wire grows through Ansible; run it as root: python -m bench.growth [HOSTS...].

Each host is a network namespace with an sshd, a management link to the controller and a port on the
fabric; all of them share the processors of this machine. The yardstick is what one round of Ansible's
own `ping` costs there. Each measure runs once before the clock does, so connections are open.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.ratio import Row
from tests.netns.cluster import Cluster, cluster, roomy_neighbour_tables

SIZES = (2, 4, 8, 16, 32)
WHOLE = "facts + plan + proof"
GOAL = 4
ROUNDS = 5

MEASURES: Mapping[str, Sequence[str]] = {
    "ping": ("adhoc", "all", "-m", "ansible.builtin.ping"),
    "proof": ("playbook", "proof.yml", "-e", "@plan.json"),
    WHOLE: ("playbook", "samewire.vllm.verify_wire"),
}
"""Arguments of ansible, by what they measure."""


def seconds(of: Cluster, arguments: Sequence[str]) -> float:
    """Return how long ansible takes; ends the benchmark where it fails."""
    began = time.monotonic()
    done = of.run(*arguments)
    if done.returncode:
        raise SystemExit(done.stdout)
    return time.monotonic() - began


def measure(size: int, rounds: int) -> list[dict[str, Any]]:
    """Return a row for each measure: median, least and most seconds, and how many pings that is."""
    took: dict[str, list[float]] = {name: [] for name in MEASURES}
    with roomy_neighbour_tables(), cluster(size) as each:
        for arguments in MEASURES.values():
            seconds(each, arguments)
        for _ in range(rounds):
            for name, arguments in MEASURES.items():
                took[name].append(seconds(each, arguments))
    yardstick = statistics.median(took["ping"])
    return [
        {
            "hosts": size,
            "measure": name,
            "median_s": round(statistics.median(times), 2),
            "least_s": round(min(times), 2),
            "most_s": round(max(times), 2),
            "pings": round(statistics.median(times) / yardstick, 2),
        }
        for name, times in took.items()
    ]


def row(rounds: int) -> Row:
    """Return how facts, plan and proof grow from the fewest to the most hosts."""
    took: dict[str, list[float]] = {}
    arguments = MEASURES[WHOLE]
    for size in (SIZES[-1], SIZES[0]):
        with roomy_neighbour_tables(), cluster(size) as each:
            seconds(each, arguments)
            took[f"{size} hosts"] = [seconds(each, arguments) for _ in range(rounds)]
    return Row(WHOLE, took, GOAL)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("hosts", type=int, nargs="*", default=SIZES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there, too")
    asked = parser.parse_args()
    print(f"hosts  {'measure':20}  median s   least    most  pings   of {asked.rounds} rounds")
    rows = []
    for size in asked.hosts:
        for row in measure(size, asked.rounds):
            rows.append(row)
            print(
                f"{row['hosts']:5}  {row['measure']:20}  {row['median_s']:8.2f}  {row['least_s']:6.2f}  "
                f"{row['most_s']:6.2f}  {row['pings']:5.1f}",
                flush=True,
            )
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
