# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a module as Ansible does: a process, arguments on standard input, JSON out."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

ROOT = pathlib.Path(__file__).parents[2]


def run_module(
    name: str, /, check: bool = False, docker: str = "/nowhere", **arguments: Any
) -> dict[str, Any]:
    """Run one module and return what it printed; docker: socket of the engine."""
    arguments["_ansible_check_mode"] = check
    arguments["_ansible_remote_tmp"] = "/tmp"
    done = subprocess.run(
        [sys.executable, "-m", f"ansible_collections.samewire.vllm.plugins.modules.{name}"],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}),
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "collections"),
            "DOCKER_HOST": f"unix://{docker}",
        },
    )
    assert done.stdout, done.stderr
    return dict(json.loads(done.stdout))
