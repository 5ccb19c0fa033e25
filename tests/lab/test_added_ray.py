# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""An image without Ray: Ray is added on the head, and the other host receives what came of it."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from samewire_lab import spec, wheels
from samewire_lab.state import State
from tests.lab.driver import CLUSTER, INVENTORY, result, samewire
from tests.lab.shell import on

RAY = "ray==2.60.0"
WITHOUT, WITH = "local/vllm:without-ray", "local/vllm:with-ray"
SITE = "/opt/vllm-env/lib/python3.11/site-packages"
# As Docker lists the images of a host.
LISTING = "docker images --quiet --no-trunc"

pytestmark = pytest.mark.heals


class _Quiet:
    """A step that shows nothing."""

    def update(self, *, fraction: float | None = None, detail: str | None = None) -> None:
        pass


@pytest.fixture(scope="module")
def index(state: State, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve Ray's wheel to the hosts, which reach no other index."""
    folder = tmp_path_factory.mktemp("index")
    wheels.download([RAY], folder, _Quiet())
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer((spec.MANAGEMENT_GATEWAY, 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{spec.MANAGEMENT_GATEWAY}:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module", autouse=True)
def _base(state: State) -> Iterator[None]:
    """Make an image without Ray, and with uv, on the head."""
    head, tool = on("node0"), "/tmp/uv"
    head.read(f"docker pull --quiet {spec.REGISTRY_PULL}/{spec.IMAGE}:{spec.IMAGE_TAG}")
    head.send(state.cache / "tools" / "uv", tool)
    head.read(
        f"chmod 755 {tool}; docker run --name without-ray --entrypoint /bin/sh "
        f"{spec.REGISTRY_PULL}/{spec.IMAGE}:{spec.IMAGE_TAG} "
        f"-c 'rm -rf {SITE}/ray {SITE}/ray-*.dist-info /opt/vllm-env/bin/ray'"
    )
    head.read(
        f"docker cp {tool} without-ray:/usr/local/bin/uv; rm {tool}; "
        f"docker commit --change 'ENTRYPOINT []' without-ray {WITHOUT}; docker rm without-ray"
    )
    yield
    result("deploy")
    for host in ("node0", "node1"):
        on(host).run(f"docker rmi {WITH} {WITHOUT}")


def variables(index: str, ray: str = RAY) -> list[str]:
    asked = {
        "container_image_base": WITHOUT,
        "container_image_name": WITH,
        "container_image_ray": ray,
        "container_image_pip_args": ["--no-index", "--find-links", index],
    }
    return [part for name, value in asked.items() for part in ("-e", f"{name}={json.dumps(value)}")]


def test_a_release_that_no_index_has(index: str) -> None:
    before = {host: on(host).read("docker ps --all --quiet | sort") for host in ("node0", "node1")}
    done = samewire("deploy", "-i", INVENTORY, *variables(index, "ray==9.9.9"))
    assert done.returncode == 1
    assert f"node0: ray==9.9.9 cannot be added to image {WITHOUT} (" in done.stdout
    assert "choose a release that has a wheel for its Python" in done.stdout
    after = {host: on(host).read("docker ps --all --quiet | sort") for host in ("node0", "node1")}
    assert after == before
    assert on("node0").read("ls -d /tmp/samewire-build-* 2>/dev/null || true") == ""


def test_it_is_made_once_and_sent(index: str) -> None:
    assert result("deploy", *variables(index))["changed"] > 0
    record = json.loads((CLUSTER / "record.json").read_text())
    assert record["executor"] == "ray"
    assert record["versions"]["ray"] == RAY.partition("==")[2]
    made = [on(host).read(f"{LISTING} {WITH}") for host in ("node0", "node1")]
    assert made[0] == made[1] != ""
    # Only the head needs what it was made of.
    assert on("node1").read(f"{LISTING} {WITHOUT}") == ""
    assert result("deploy", *variables(index))["changed"] == 0
    assert on("node0").read(f"{LISTING} {WITH}") == made[0]
