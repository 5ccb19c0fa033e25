# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The driver as people run it on the lab, with its output on a pipe."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
from typing import Any

ROOT = pathlib.Path(__file__).parents[2]
INVENTORY = "inventories/lab"
CLUSTER = pathlib.Path("~/.samewire/clusters/lab").expanduser()
PLAIN = {**os.environ, "NO_COLOR": "1"}


def samewire(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the driver and wait for its end."""
    return subprocess.run(
        ["samewire", *arguments], capture_output=True, text=True, check=False, cwd=ROOT, env=PLAIN
    )


def result(verb: str, *arguments: str, inventory: str = INVENTORY) -> dict[str, Any]:
    """Run a verb that succeeds; return what it printed as JSON."""
    done = samewire(verb, "-i", inventory, "--json", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(json.loads(done.stdout))
