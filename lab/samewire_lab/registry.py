# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The local registry that the hosts really pull from.

It is pushed to on loopback and pulled from on the management gateway, read-only, so that nothing
outside this machine reaches it. Its volume belongs to the image cache: pushing compresses for
most of a minute, and a second boot need not do it again.
"""

import socket
import urllib.request
from collections import defaultdict

from docker import DockerClient
from docker.errors import NotFound
from docker.models.containers import Container

from samewire_lab import spec
from samewire_lab.errors import LabError
from samewire_lab.progress import Step
from samewire_lab.waiting import wait_for

KEY_LABEL = "samewire.lab.image"


def start(client: DockerClient, image: str, vllm: str) -> None:
    """Start the registry on a volume that is emptied when another vLLM image is to be served."""
    container = _container(client)
    if container and container.attrs["Config"]["Image"] != image:
        remove(client)
    if _volume_key(client) != vllm:
        remove(client)
        purge(client)
        client.volumes.create(spec.REGISTRY, labels={KEY_LABEL: vllm})
    if container := _container(client):
        container.start()
    else:
        serve = "docker-registry serve /etc/samewire-lab/registry"
        client.containers.run(
            image,
            ["-c", f"{serve}-push.yml & exec {serve}-pull.yml"],
            name=spec.REGISTRY,
            entrypoint="/bin/sh",
            detach=True,
            init=True,
            network_mode="host",
            volumes={spec.REGISTRY: {"bind": "/var/lib/registry", "mode": "rw"}},
        )
    for address in (spec.REGISTRY_PUSH, spec.REGISTRY_PULL):
        host, port = address.split(":")
        wait_for(
            lambda host=host, port=port: _answers(host, int(port)),  # type: ignore[misc]
            20,
            f"The lab's registry did not answer on {address}",
        )


def serves(client: DockerClient, vllm: str) -> bool:
    """Tell whether hosts can pull this very vLLM image."""
    manifest = f"http://{spec.REGISTRY_PUSH}/v2/{spec.IMAGE}/manifests/{spec.IMAGE_TAG}"
    if _volume_key(client) != vllm:
        return False
    try:
        with urllib.request.urlopen(manifest, timeout=5):
            return True
    except OSError:
        return False


def push(client: DockerClient, image: str, step: Step) -> None:
    """Push the vLLM image under the name that the hosts pull."""
    repository = f"{spec.REGISTRY_PUSH}/{spec.IMAGE}"
    client.api.tag(image, repository, spec.IMAGE_TAG)
    done: dict[str, int] = defaultdict(int)
    total: dict[str, int] = defaultdict(int)
    try:
        for event in client.api.push(repository, tag=spec.IMAGE_TAG, stream=True, decode=True):
            if "error" in event:
                raise LabError(f"Pushing to {repository} failed: {event['error']}")
            detail = event.get("progressDetail") or {}
            if "total" in detail:
                done[event["id"]] = detail["current"]
                total[event["id"]] = detail["total"]
                step.update(fraction=min(1.0, sum(done.values()) / sum(total.values())))
    finally:
        client.api.remove_image(f"{repository}:{spec.IMAGE_TAG}")


def remove(client: DockerClient) -> None:
    """Remove the registry; its volume stays."""
    if container := _container(client):
        container.remove(force=True)


def purge(client: DockerClient) -> None:
    """Remove the registry's volume."""
    try:
        client.volumes.get(spec.REGISTRY).remove()
    except NotFound:
        return


def require_port(client: DockerClient) -> None:
    """LabError when something else than the lab's registry listens on its port."""
    if _container(client) is None and _answers("127.0.0.1", spec.REGISTRY_PORT):
        raise LabError(
            f"Port {spec.REGISTRY_PORT} of 127.0.0.1 on this machine is taken and the lab's "
            f"registry needs it; stop what listens there."
        )


def _container(client: DockerClient) -> Container | None:
    try:
        return client.containers.get(spec.REGISTRY)
    except NotFound:
        return None


def _volume_key(client: DockerClient) -> str | None:
    """Return the vLLM image that the volume was made for."""
    try:
        labels = client.volumes.get(spec.REGISTRY).attrs["Labels"] or {}
    except NotFound:
        return None
    key = labels.get(KEY_LABEL)
    return None if key is None else str(key)


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=2):
            return True
    except OSError:
        return False
