# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Measure what Samewire claims: a table, and JSON. The lab must be up: samewire lab up.

Each row is a ratio of two things measured in one run, in turns: medians, with least and most.
"""

from __future__ import annotations

import argparse
import functools
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from bench import deployment, diagnosis, growth
from bench.ratio import HEADER, Row, measured

ROUNDS = 5
MEASURES: Mapping[str, Callable[[int], Row]] = {
    **{name: functools.partial(measured, measure) for name, measure in deployment.MEASURES.items()},
    "growth": growth.row,
    "diagnosis": diagnosis.row,
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__.splitlines()[0])
    parser.add_argument("measures", nargs="*", metavar="MEASURE", help=", ".join(MEASURES))
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"{ROUNDS} unless told")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there, too")
    asked = parser.parse_args()
    if unknown := set(asked.measures) - set(MEASURES):
        parser.error(f"no measure is called {', '.join(unknown)}, expected {', '.join(MEASURES)}")
    print(HEADER, flush=True)
    rows = []
    for name in asked.measures or MEASURES:
        row = MEASURES[name](asked.rounds)
        rows.append(row.plain())
        print(row.line(), flush=True)
        if asked.json:
            asked.json.parent.mkdir(parents=True, exist_ok=True)
            asked.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
