# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a deployment costs on the lab, beside what nobody can do without: python -m bench.deployment.

| measure | over |
|---|---|
| a deployment from nothing, with a completion | bench/by_hand.sh, the least that gives one |
| a deployment that changes nothing | `ansible all -m ping` on the same hosts |
| the facts of the interconnect | Ansible's own facts of the network |

The pairs of a measure are run in turns, so that what else the machine does falls on both.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
INVENTORY = "inventories/lab"
BY_HAND = str(ROOT / "bench/by_hand.sh")
ROUNDS = 5
WITHOUT_FACTS = "gather_subset=!all,!min,network"


def run(*command: str) -> None:
    """Run a program of this environment; end the benchmark where it fails."""
    paths = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    collections = {"ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections")}
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        text=True,
        cwd=ROOT,
        env={**os.environ, **collections, "PATH": paths},
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-4000:]}")


def ansible(module: str, *arguments: str) -> Callable[[], None]:
    """Return what runs one module on all hosts."""
    return lambda: run("ansible", "-i", INVENTORY, "all", "-m", module, *arguments)


def deploy() -> None:
    run("ansible-playbook", "-i", INVENTORY, "deploy.yml")


def teardown() -> None:
    run("samewire", "teardown", "-i", INVENTORY, "--yes")


def nothing() -> None:
    """Needs no preparation."""


@dataclass(frozen=True)
class Side:
    """One of the two things compared; `ready` comes before each run, off the clock."""

    name: str
    work: Callable[[], None]
    ready: Callable[[], None] = nothing


@dataclass(frozen=True)
class Measure:
    """A ratio, and the most that it should be; `end` brings the lab back for the next measure."""

    name: str
    ours: Side
    theirs: Side
    goal: float | None = None
    end: Callable[[], None] = nothing


def clean() -> None:
    """Leave neither cluster on the hosts."""
    run(BY_HAND, "down")
    teardown()


MEASURES: Mapping[str, Measure] = {
    "overhead": Measure(
        "from nothing to a completion",
        Side("deploy.yml", deploy, clean),
        Side("by hand", lambda: run(BY_HAND, "up"), clean),
        goal=1.10,
        end=clean,
    ),
    "no change": Measure(
        "no change", Side("deploy.yml", deploy), Side("ping", ansible("ping")), goal=8
    ),
    "facts": Measure(
        "facts",
        Side("interconnect_info", ansible("samewire.vllm.interconnect_info")),
        Side("setup", ansible("ansible.builtin.setup", "-a", WITHOUT_FACTS)),
    ),
}


def seconds(side: Side) -> float:
    side.ready()
    began = time.monotonic()
    side.work()
    return time.monotonic() - began


def measured(measure: Measure, rounds: int) -> dict[str, object]:
    """Return medians, spreads and the ratio of a measure."""
    took: dict[str, list[float]] = {measure.ours.name: [], measure.theirs.name: []}
    for number in range(rounds):
        sides = (measure.ours, measure.theirs)
        # Whoever is first finds other caches than whoever is second.
        for side in sides if number % 2 else reversed(sides):
            took[side.name].append(seconds(side))
    measure.end()
    ours, theirs = (statistics.median(times) for times in took.values())
    return {
        "measure": measure.name,
        "seconds": {
            name: {
                "median": round(statistics.median(times), 2),
                "least": round(min(times), 2),
                "most": round(max(times), 2),
            }
            for name, times in took.items()
        },
        "ratio": round(ours / theirs, 2),
        "goal": measure.goal,
    }


def line(row: dict[str, object]) -> str:
    """Return a row of the table."""
    sides = " | ".join(
        f"{name}: {of['median']} s ({of['least']}-{of['most']})"
        for name, of in row["seconds"].items()  # type: ignore[attr-defined]
    )
    goal = f"at most {row['goal']}" if row["goal"] else "-"
    return f"| {row['measure']} | {sides} | {row['ratio']} | {goal} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("measures", nargs="*", metavar="MEASURE", help=", ".join(MEASURES))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there, too")
    asked = parser.parse_args()
    unknown = set(asked.measures) - set(MEASURES)
    if unknown:
        parser.error(f"no measure is called {', '.join(unknown)}, expected {', '.join(MEASURES)}")
    print("| measure | ours | theirs | ratio | goal |\n|---|---|---|---|---|", flush=True)
    rows = []
    for name in asked.measures or MEASURES:
        rows.append(measured(MEASURES[name], asked.rounds))
        print(line(rows[-1]), flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
