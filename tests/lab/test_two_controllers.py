# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Two controllers change one cluster: the second is refused with the name of the first."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from samewire_lab.waiting import wait_for
from tests.lab.driver import INVENTORY, PLAIN, ROOT, samewire
from tests.lab.shell import on

LOCK = "/root/.samewire/lab.lock"

pytestmark = pytest.mark.heals


def start(hostname: str) -> subprocess.Popen[str]:
    """Deploy from a controller of another name, whose processes nobody else sees."""
    inside = f"hostname {hostname}; exec samewire deploy -i {INVENTORY} -e vllm_server_served_model_name=x"
    return subprocess.Popen(
        ["unshare", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", inside],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env=PLAIN,
        process_group=0,
    )


def end(process: subprocess.Popen[str]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_one_at_a_time() -> None:
    assert samewire("deploy", "-i", INVENTORY).returncode == 0
    with start("desk") as first:
        wait_for(lambda: on("node0").run(f"test -e {LOCK}").returncode == 0, 60, "no lock is taken")
        refused = samewire("deploy", "-i", INVENTORY)
        assert refused.returncode != 0
        assert "node0: cluster lab is being changed by root@desk (pid " in refused.stdout
        end(first)
    # Here nobody can know that it is dead; its lease, or whoever is sure, says so.
    refused = samewire("stop", "-i", INVENTORY)
    assert "is being changed by root@desk" in refused.stdout
    assert samewire("deploy", "-i", INVENTORY, "-e", "lock_take_over=true").returncode == 0
    assert on("node0").run(f"test -e {LOCK}").returncode == 1
