# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a running cluster answers to strangers: every TCP port of a host, and Ray without its token."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import subprocess

import pytest

from samewire_lab.spec import HOSTS
from tests.lab.shell import on

ROOT = pathlib.Path(__file__).parents[2]
AT_ONCE = 500
ASK_RAY = "/bin/sh /samewire/run.sh ray status"

pytestmark = pytest.mark.deploys


@pytest.fixture(scope="module", autouse=True)
def _deployed() -> None:
    done = subprocess.run(
        ["samewire", "deploy", "-i", "inventories/lab"],
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


async def _scan(address: str) -> set[int]:
    room = asyncio.Semaphore(AT_ONCE)
    answering = set()

    async def ask(port: int) -> None:
        async with room:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.wait_for(asyncio.open_connection(address, port), 10)
                answering.add(port)
                writer.close()

    await asyncio.gather(*(ask(port) for port in range(1, 65536)))
    return answering


def test_only_ssh_and_the_api_answer_on_management() -> None:
    found = {host.name: asyncio.run(_scan(host.management_address)) for host in HOSTS}
    assert found == {"node0": {22, 8000}, "node1": {22}}


@pytest.mark.parametrize("host", ["node0", "node1"])
def test_ray_asks_for_its_token(host: str) -> None:
    assert on(host).run(f"docker exec lab-ray {ASK_RAY}").returncode == 0
    # Names of variables that the entry point would unset, since the container must not have them.
    wrong = "-e SAMEWIRE_UNSET= -e RAY_AUTH_TOKEN=wrong"
    for what in (wrong, "-e RAY_AUTH_MODE=disabled"):
        assert on(host).run(f"docker exec {what} lab-ray {ASK_RAY}").returncode != 0, what


@pytest.mark.parametrize("container", ["lab-ray", "lab-vllm"])
def test_a_container_may_do_no_more_than_it_must(container: str) -> None:
    seen = on("node0").read(
        f"docker exec {container} grep -E '^(CapBnd|NoNewPrivs)' /proc/self/status"
    )
    assert seen.split() == ["CapBnd:", "0000000000000002", "NoNewPrivs:", "1"]
