# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a running cluster answers to strangers: every TCP port of a host, and Ray without its token."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import subprocess
import urllib.error
import urllib.request

import pytest

from samewire_lab.spec import HOSTS
from tests.lab.driver import CLUSTER
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


API = f"http://{HOSTS[0].management_address}:8000"
OPEN = ("/health", "/ping")
# As vLLM 0.32 lists them in /openapi.json for a model that generates, and what others serve.
CLOSED = (
    *("/metrics", "/metrics/", "/v1/models", "/v1/completions", "/v1/chat/completions"),
    *("/invocations", "/inference/v1/generate", "/tokenize", "/detokenize", "/score", "/rerank"),
    *("/pooling", "/classify", "/embed", "/load", "/version", "/server_info", "/is_sleeping"),
    *("/docs", "/redoc", "/openapi.json", "/", "/nothing", "//metrics", "/health/../metrics"),
)


def ask(path: str, key: str | None, method: str = "GET") -> int:
    """Return the status of an answer to this machine, which is on the management side."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    request = urllib.request.Request(f"{API}{path}", headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize("path", CLOSED)
def test_no_path_is_open_beside_the_key(path: str, method: str) -> None:
    assert ask(path, None, method) == 401
    assert ask(path, "another", method) == 401
    assert ask(path, (CLUSTER / "api_key").read_text(encoding="utf-8"), method) != 401


@pytest.mark.parametrize("path", OPEN)
def test_whether_the_server_lives_is_no_secret(path: str) -> None:
    assert ask(path, None) == 200


@pytest.mark.parametrize("address", ["127.0.0.1", HOSTS[0].management_address])
def test_the_head_itself_reads_the_metrics(address: str) -> None:
    asked = "curl -s -o /dev/null -w '%{http_code}'"
    assert on("node0").read(f"{asked} http://{address}:8000/metrics") == "200"
    assert on("node0").read(f"{asked} http://{address}:8000/tokenize") == "401"


def test_workers_do_not_see_the_guard() -> None:
    """It is on the path of the server alone."""
    seen = "tr '\\0' '\\n' < /proc/%s/environ | grep -c ^PYTHONPATH=.*/samewire/server"
    for host in HOSTS:
        pids = on(host.name).read(
            "docker top lab-ray -eo pid,args | awk '/RayWorker|ray::/{print $1}'"
        )
        assert pids, host.name
        for pid in pids.split():
            assert on(host.name).run(seen % pid).stdout.strip() == "0", pid
