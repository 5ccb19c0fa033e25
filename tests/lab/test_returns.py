# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A change whose server does not become ready: the cluster as it was comes back, and the finding says why."""

from __future__ import annotations

import io
import json
import time
from dataclasses import dataclass

import pytest
from docker import DockerClient

from samewire_lab import spec
from samewire_lab.waiting import wait_for
from tests.lab.driver import CLUSTER, INVENTORY, samewire
from tests.lab.load import Load
from tests.lab.shell import on

BROKEN = f"{spec.IMAGE}:broken"
# It passes every gate, and its server does not start. The image compiled its modules once for all.
DOCKERFILE = f"""
FROM {spec.REGISTRY_PUSH}/{spec.IMAGE}:{spec.IMAGE_TAG}
RUN PATH=/opt/vllm-env/bin:$PATH; \\
  origin=$(python -c 'from importlib import util; print(util.find_spec("vllm").origin)'); \\
  echo 'import lost' > "$origin" && rm -r "$(dirname "$origin")/__pycache__"
"""

HOSTS = ("node0", "node1")

pytestmark = pytest.mark.heals
Rows = list[tuple[str, ...]]


@dataclass(frozen=True)
class Update:
    """Variables that make a server fail after all gates, and the words that say why."""

    name: str
    variables: tuple[str, ...]
    cause: str


UPDATES = [
    Update(
        "an image whose vLLM cannot start",
        (f"container_image_name={spec.REGISTRY_PULL}/{BROKEN}",),
        "(broken_python_environment)",
    ),
    Update(
        "an argument that vLLM does not know, with a variable of NCCL",
        ("vllm_server_extra_args=[--no-such-argument]", "ray_node_environment={NCCL_DEBUG: INFO}"),
        "unrecognized arguments: --no-such-argument",
    ),
]


def deploy(*variables: str) -> dict[str, object]:
    given = [part for variable in variables for part in ("-e", variable)]
    return dict(json.loads(samewire("deploy", "-i", INVENTORY, "--json", *given).stdout))


def containers() -> dict[str, list[str]]:
    command = "docker ps --all --no-trunc --format '{{.Names}} {{.ID}} {{.State}}' | sort"
    return {host: on(host).read(command).splitlines() for host in HOSTS}


@pytest.fixture(scope="module")
def _broken_image(client: DockerClient) -> None:
    """Put the image into the registry of the lab."""
    image, _ = client.images.build(fileobj=io.BytesIO(DOCKERFILE.encode()))
    assert image.tag(f"{spec.REGISTRY_PUSH}/{BROKEN}")
    client.images.push(f"{spec.REGISTRY_PUSH}/{BROKEN}")


@pytest.mark.usefixtures("_broken_image")
@pytest.mark.parametrize("update", UPDATES, ids=[update.name for update in UPDATES])
def test_the_cluster_as_it_was_comes_back(update: Update, rows: Rows) -> None:
    assert deploy()["exit_code"] == 0
    record = json.loads((CLUSTER / "record.json").read_text())
    before = containers()
    with Load(record) as load:
        wait_for(lambda: load.right_since(0), 60, "the cluster does not serve before the change")
        begun = time.monotonic()
        ended = deploy(*update.variables)
        named = time.monotonic() - begun
        assert ended["exit_code"] != 0
        said = "\n".join(ended["findings"])  # type: ignore[arg-type]
        assert update.cause in said
        assert "The containers of before were started again" in said
        wait_for(
            lambda: load.right_since(begun + named), 180, "the old server does not serve again"
        )
        serves = (load.right_since(begun + named) or 0) - begun
    assert containers() == before
    assert json.loads((CLUSTER / "record.json").read_text()) == record
    assert deploy()["changed"] == 0
    rows.append((update.name, f"named in {named:.0f} s", f"serves again after {serves:.0f} s"))
