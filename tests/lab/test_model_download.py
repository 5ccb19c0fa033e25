# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The role model_weights downloads in a container of the lab's image, from the lab's small hub.

It runs on this machine and leaves the lab's hosts alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from docker import DockerClient
from docker.errors import ContainerError

from samewire_lab.hub import Hub, Repository
from tests.unit.modules import ROOT
from tests.unit.plugins.modules.test_weights_info import safetensors

MODEL = "org/tiny"
TOKEN = "hf_of-the-test"


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(safetensors(5_000_000))
    server = Hub({MODEL: Repository(folder, token=TOKEN)}).server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def image(client: DockerClient) -> str:
    return str(client.images.list("samewire-lab/vllm")[0].tags[0])


def play(folder: Path, endpoint: str, image: str, token: str) -> tuple[int, str]:
    """Run the role on this machine; return the exit code and what was printed, on one line."""
    role = {
        "role": "samewire.vllm.model_weights",
        "vars": {
            "model_weights_model": MODEL,
            "model_weights_cluster": "download-trial",
            "model_weights_head": "here",
            "model_weights_plan": {"hosts": {"here": {"address": "127.0.0.1"}}},
            "model_weights_directory": str(folder / "own"),
            "model_weights_hub_cache": str(folder / "hub"),
            "model_weights_image": image,
            "model_weights_environment": {"HF_ENDPOINT": endpoint},
            "model_weights_hf_token": token,
        },
    }
    play = {"name": "P", "hosts": "all", "gather_facts": False, "roles": [role]}
    (folder / "play.yml").write_text(json.dumps([play]))
    python = json.dumps({"ansible_python_interpreter": sys.executable})
    argv = [sys.executable, "-m", "ansible", "playbook", "-i", "here,", "-c", "local", "-e", python]
    done = subprocess.run(
        [*argv, "play.yml"],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")},
    )
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def test_a_gated_model(tmp_path: Path, endpoint: str, image: str, client: DockerClient) -> None:
    code, said = play(tmp_path, endpoint, image, token="")
    assert code == 2
    assert (
        "here: org/tiny is gated, expected a token of an account that was granted access at "
        f"{endpoint}/org/tiny, got no token; set vllm_server_hf_token"
    ) in said

    code, said = play(tmp_path, endpoint, image, token=TOKEN)
    assert (code, "here: downloaded and verified 5.0 MB of weights" in said) == (0, True), said
    assert TOKEN not in said
    assert client.containers.list(all=True, filters={"name": "download-trial"}) == []

    code, said = play(tmp_path, endpoint, image, token=TOKEN)
    assert (code, "changed=0" in said, "Start the download" in said) == (0, True, False), said

    asked = f"import huggingface_hub as h; print(h.snapshot_download({MODEL!r}))"
    try:
        found = client.containers.run(
            image,
            ["-c", asked],
            entrypoint="/opt/vllm-env/bin/python",
            environment={"HF_HOME": "/samewire-hub", "HF_HUB_OFFLINE": "1"},
            network_mode="none",
            volumes={str(tmp_path / "hub"): {"bind": "/samewire-hub", "mode": "ro"}},
            remove=True,
        )
    except ContainerError as error:
        pytest.fail(str(error))
    assert found.decode().startswith("/samewire-hub/hub/models--org--tiny/snapshots/")
