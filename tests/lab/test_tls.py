# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The API of a running cluster behind TLS and back: vLLM alone restarts, and all who ask go on."""

from __future__ import annotations

import json
import re
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from samewire_lab.spec import HOSTS
from tests.lab.driver import CLUSTER, INVENTORY, samewire
from tests.lab.shell import on

ADDRESS = HOSTS[0].management_address
TLS = ("-e", "vllm_server_tls=true")
SECRETS = "/root/.samewire/lab/secrets"

pytestmark = pytest.mark.deploys


def deploy(*arguments: str) -> str:
    done = samewire("deploy", "-i", INVENTORY, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def started() -> dict[str, str]:
    """Return when each container of the cluster was started, by name."""
    script = "docker inspect -f '{{.Name}} {{.State.StartedAt}}' $(docker ps -q)"
    return {
        f"{host.name}{name}": moment
        for host in HOSTS
        for name, moment in (line.split() for line in on(host.name).read(script).splitlines())
    }


def curl(printed: str) -> str:
    """Run the command that a deployment ends with, and return what it printed."""
    (command,) = re.findall(
        r"^  (curl -s .*(?:\n-.*)*)$", printed.replace("\\\n", ""), re.MULTILINE
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    return done.stdout


@pytest.fixture(scope="module")
def behind_tls() -> Iterator[tuple[dict[str, str], str]]:
    """Deploy with TLS over the cluster without; return what ran before, and what the deployment printed."""
    deploy()
    before = started()
    yield before, deploy(*TLS)
    printed = deploy()
    assert f"http://{ADDRESS}:8000/" in printed
    assert not (CLUSTER / "api.crt").exists()
    assert json.loads(curl(printed))["choices"]


def test_vllm_alone_is_restarted(behind_tls: tuple[dict[str, str], str]) -> None:
    before, _ = behind_tls
    now = started()
    assert {name for name in before if before[name] != now[name]} == {"node0/lab-vllm"}


def test_the_closing_command_asks_over_tls(behind_tls: tuple[dict[str, str], str]) -> None:
    _, printed = behind_tls
    assert f"--cacert {CLUSTER}/api.crt https://{ADDRESS}:8000/v1/completions" in printed.replace(
        "\\\n", ""
    )
    assert json.loads(curl(printed))["choices"]


@pytest.mark.usefixtures("behind_tls")
def test_everybody_who_asks_goes_on() -> None:
    chat = samewire("chat", "-i", INVENTORY, "Hello")
    assert (chat.returncode, bool(chat.stdout.strip())) == (0, True), chat.stderr
    status = json.loads(samewire("status", "-i", INVENTORY, *TLS, "--json").stdout)
    assert (status["verdict"], status["vllm"]["url"]) == ("serving", f"https://{ADDRESS}:8000")
    assert status["vllm"]["models"] == ["/models/tiny"]
    assert status["vllm"]["requests"] is not None


@pytest.mark.usefixtures("behind_tls")
def test_plain_http_and_other_trust_get_nothing() -> None:
    with pytest.raises((urllib.error.URLError, OSError), match=r"reset|closed|Empty|BadStatusLine"):
        urllib.request.urlopen(f"http://{ADDRESS}:8000/health", timeout=30)
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(f"https://{ADDRESS}:8000/health", timeout=30)
    context = ssl.create_default_context(cafile=str(CLUSTER / "api.crt"))
    with urllib.request.urlopen(f"https://{ADDRESS}:8000/health", context=context) as answer:
        assert answer.status == 200


@pytest.mark.usefixtures("behind_tls")
def test_again_it_changes_nothing_and_shows_no_key() -> None:
    before = started()
    printed = deploy(*TLS, "-vvvv")
    assert re.findall(r"changed=[1-9]\d*", printed) == []
    assert started() == before
    assert on("node0").read(f"stat -c %a {SECRETS}/api.key {SECRETS}/api.crt") == "600\n600"
    key = on("node0").read(f"sed -n 2p {SECRETS}/api.key")
    assert len(key) > 40
    seen = {
        "Ansible at -vvv": printed,
        "processes": on("node0").read("ps axww -o args"),
        "containers": on("node0").read("docker inspect $(docker ps -aq)"),
        "the log": on("node0").read("docker logs lab-vllm 2>&1"),
        "the controller": "".join(
            path.read_text(encoding="utf-8") for path in CLUSTER.iterdir() if path.is_file()
        ),
    }
    assert [where for where, text in seen.items() if key in text] == []
