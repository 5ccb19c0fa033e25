# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A deployment brings the weights: a path that only the head has, and a model of the hub."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from samewire_lab.hub import Hub, Repository
from samewire_lab.spec import MODEL_PATH
from samewire_lab.state import State
from tests.lab.driver import INVENTORY, samewire
from tests.lab.shell import on
from tests.lab.test_changes import deploy

HOSTS = ("node0", "node1")
MODEL = "org/tiny"
TOKEN = "hf_of-the-test"
CACHE = "/srv/hub"

pytestmark = pytest.mark.deploys


@pytest.fixture(autouse=True)
def _bare() -> Iterator[None]:
    """Leave the hosts as they were: without a cluster, and without what the test put there."""
    clean()
    yield
    clean()


def clean() -> None:
    for host in HOSTS:
        on(host).read(
            "docker rm -f lab-vllm lab-ray lab-weights >/dev/null 2>&1 || true;"
            f"rm -rf /srv/fresh /srv/.fresh.samewire {CACHE} /root/.samewire/lab"
        )


def sums(path: str) -> list[str]:
    return [
        on(host).read(f"cd {path} && find -L . -type f -exec sha256sum {{}} + | sort")
        for host in HOSTS
    ]


def test_a_path_that_only_the_head_has() -> None:
    on("node0").read(f"cp -r {MODEL_PATH} /srv/fresh")
    given = ("-e", "vllm_server_model=/srv/fresh")
    predicted = deploy("--check", *given)
    assert on("node1").run("test -e /srv/fresh").returncode == 1
    received = ("samewire.vllm.model_weights : Receive the weights over the interconnect", "node1")
    assert received in predicted
    made = deploy(*given)
    assert received in made
    first, second = sums("/srv/fresh")
    assert first == second
    assert deploy(*given) == set()
    # What is cut short on the worker comes again.
    on("node1").read("truncate -s -1 /srv/fresh/*.safetensors")
    assert deploy(*given) == {received}
    first, second = sums("/srv/fresh")
    assert first == second


@pytest.fixture
def hub(tmp_path: Path, state: State) -> Iterator[tuple[Hub, str]]:
    """Serve the lab's tiny model, gated, where the hosts reach this machine."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    with (tmp_path / "tiny.tar").open("wb") as archive:
        subprocess.run(
            [
                *("ssh", "-i", str(state.key), "-o", "BatchMode=yes"),
                *("-o", f"UserKnownHostsFile={state.known_hosts}", "root@10.213.1.180"),
                f"tar -C {MODEL_PATH} -c .",
            ],
            check=True,
            stdout=archive,
        )
    # Python's own way has no safe form before 3.11.4.
    subprocess.run(["tar", "-C", folder, "-xf", tmp_path / "tiny.tar"], check=True)
    served = Hub({MODEL: Repository(folder, token=TOKEN)})
    server = served.server("10.213.1.1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield served, f"http://10.213.1.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_model_of_the_hub(hub: tuple[Hub, str], tmp_path: Path) -> None:
    served, endpoint = hub
    variables = (
        f"vllm_server_model={MODEL}",
        f"ray_node_hub_cache={CACHE}",
        f"ray_node_environment={{HF_ENDPOINT: {endpoint}}}",
    )
    given = tuple(part for variable in variables for part in ("-e", variable))
    refused = samewire("deploy", "-i", INVENTORY, *given)
    assert refused.returncode == 3, refused.stdout + refused.stderr
    assert "node0: org/tiny is gated, expected a token" in refused.stdout + refused.stderr
    assert on("node0").read("docker ps --all --quiet") == ""

    with_token = (*given, "-e", f"vllm_server_hf_token={TOKEN}")
    made = {task.rpartition(" : ")[2] for task, _ in deploy(*with_token)}
    assert {"Start the download", "Receive the weights over the interconnect"} <= made
    first, second = sums(f"{CACHE}/hub/models--org--tiny/snapshots")
    assert first == second
    size = sum(path.stat().st_size for path in (tmp_path / "tiny").iterdir())
    # One host downloads; no rank asks the hub.
    assert size <= served.sent < 1.5 * size
    served.sent = 0
    assert deploy(*with_token) == set()
    assert served.sent == 0
    environment = on("node1").read("docker inspect -f '{{json .Config.Env}}' lab-ray")
    assert "HF_HUB_OFFLINE=1" in environment
    assert on("node0").read("stat -c %U /srv/hub/hub") == "root"
