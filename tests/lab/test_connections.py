# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A cluster deployed by an account that is not root, with secrets that nobody gets to see."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from tests.lab.shell import on

ROOT = pathlib.Path(__file__).parents[2]
HOSTS = ("node0", "node1")
SECRETS = {
    "vllm_server_api_key": "key-7f3a9c51e2",
    "vllm_server_hf_token": "hub-52b8d0a46e",
    "ray_node_auth_token": "ray-0d94f1b7c8",
}

pytestmark = pytest.mark.deploys


@pytest.fixture(autouse=True)
def _nothing_before_and_after() -> Iterator[None]:
    _remove()
    yield
    _remove()


def _remove() -> None:
    for host in HOSTS:
        on(host).read(
            "docker rm -f lab-vllm lab-ray >/dev/null 2>&1 || true;"
            "nft delete table inet samewire_lab 2>/dev/null || true; rm -rf /etc/samewire;"
            "rm -rf /root/.samewire/lab /home/*/.samewire",
        )


def deploy(*arguments: str) -> str:
    """Deploy with Ansible alone, and return all that it printed."""
    done = subprocess.run(
        ["ansible-playbook", "-i", "inventories/lab", "deploy.yml", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=os.environ,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    return done.stdout + done.stderr


def complete(key: str | None) -> str:
    body = {"model": "/models/tiny", "prompt": "Every layer on", "max_tokens": 4}
    request = urllib.request.Request(
        "http://10.213.1.180:8000/v1/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {}),
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        return str(json.load(response)["choices"][0]["text"])


def test_a_user_in_the_group_docker_and_secrets(tmp_path: pathlib.Path) -> None:
    variables = tmp_path / "secrets.json"
    variables.write_text(json.dumps(SECRETS))
    # This user cannot become root, which the firewall needs.
    user = ("-e", "ansible_user=dockhand", "-e", "firewall_enabled=false")
    printed = deploy("-vvv", *user, "-e", f"@{variables}")
    record = pathlib.Path("~/.samewire/clusters/lab/record.json").expanduser().read_text()
    seen = {
        "Ansible at -vvv": printed,
        "the record": record,
        **{
            f"{what} on {host}": on(host).read(script)
            for host in HOSTS
            for what, script in {
                "processes": "ps axww -o args",
                "containers": "docker inspect $(docker ps -aq)",
                "logs": "for c in $(docker ps -aq); do docker logs $c 2>&1; done",
                "logs of Ray": "cat /home/dockhand/.samewire/lab/ray/*/logs/* 2>/dev/null || true",
            }.items()
        },
    }
    leaks = [
        f"{name} in {where}"
        for where, text in seen.items()
        for name, secret in SECRETS.items()
        if secret in text
    ]
    assert leaks == []
    assert on("node1").read("stat -c '%U %a' /home/dockhand/.samewire/lab/secrets/ray_token") == (
        "dockhand 600"
    )
    with pytest.raises(urllib.error.HTTPError, match="401"):
        complete(None)
    assert complete(SECRETS["vllm_server_api_key"])


def test_a_user_with_become() -> None:
    deploy("-e", "ansible_user=operator", "-e", "ansible_become=true")
    key = pathlib.Path("~/.samewire/clusters/lab/api_key").expanduser()
    assert key.stat().st_mode & 0o777 == 0o600
    assert complete(key.read_text())
    with pytest.raises(urllib.error.HTTPError, match="401"):
        complete("another")
    for host in HOSTS:
        assert on(host).read("stat -c '%U %a' /root/.samewire/lab/secrets/ray_token") == "root 600"
        assert on(host).read("ls /home/operator/.samewire 2>/dev/null || echo none") == "none"
    again = deploy("-e", "ansible_user=operator", "-e", "ansible_become=true")
    assert "changed=0" in again
    assert "changed: [" not in again
