# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The lab as a whole: up, down, status. What does not depend on each other runs side by side."""

import shutil
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from docker import DockerClient

from samewire_lab import containers, engine, hosts, images, model, networks, registry, spec, wheels
from samewire_lab.images import Images
from samewire_lab.progress import Progress
from samewire_lab.spec import Host
from samewire_lab.state import State


def up(state: State, progress: Progress) -> None:
    """Bring the lab up and return when both hosts can be used; quick when it is up already."""
    with state.locked():
        _Up(state, progress).run()


class _Up:
    """One run of `up`: each method is a step, `run` says which may overlap."""

    def __init__(self, state: State, progress: Progress) -> None:
        self._state = state
        self._progress = progress
        self._images = Images.current()
        self._client: DockerClient

    def run(self) -> None:
        with ThreadPoolExecutor(max_workers=16) as pool:
            # Without an engine there are no images either, so their packages are needed for sure.
            fresh = "dockerd" in engine.missing_programs()
            packages = pool.submit(self._packages) if fresh and engine.connect() is None else None
            self._client = engine.ensure(self._state, self._progress)
            if self._is_up():
                return
            containers.remove_builds(self._client)
            # What can be refused is refused before the long work.
            registry.require_port(self._client)
            networks.create(self._client)
            if not images.exists(self._client, self._images.vllm):
                packages = packages or pool.submit(self._packages)
            base = pool.submit(self._base)
            host = pool.submit(self._host, base)
            vllm = pool.submit(self._vllm, base, packages)
            booted = pool.submit(self._boot, host)
            pushed = pool.submit(self._push, booted, vllm)
            trained = pool.submit(self._model, vllm)
            ready = [pool.submit(self._ready, booted, trained, one) for one in spec.HOSTS]
            try:
                _results([base, host, vllm, booted, pushed, trained, *ready])
            except KeyboardInterrupt:
                # Builds end with their containers, and what waits for them ends with an error.
                containers.remove_builds(self._client)
                raise
        images.remove(self._client, keep=self._images.all())

    def _is_up(self) -> bool:
        return (
            all(images.exists(self._client, image) for image in self._images.all())
            and all(
                hosts.current(self._client, self._images.host, host)
                and hosts.ready(self._client, self._state, host)
                for host in spec.HOSTS
            )
            and model.directory(self._state, self._images.vllm).exists()
            and registry.serves(self._client, self._images.vllm)
        )

    def _packages(self) -> None:
        wanted = images.vllm_requirements()
        with self._progress.step("Download the Python packages of vLLM and Ray") as step:
            wheels.download(wanted, self._state.cache / "wheels", step)

    def _base(self) -> None:
        if not images.exists(self._client, self._images.base):
            with self._progress.step("Build the base image") as step:
                images.build_base(self._client, self._images.base, step)

    def _host(self, base: Future[None]) -> None:
        base.result()
        if not images.exists(self._client, self._images.host):
            with self._progress.step("Build the host image") as step:
                images.build_host(self._client, self._images, step)

    def _vllm(self, base: Future[None], packages: Future[None] | None) -> None:
        base.result()
        if packages:
            packages.result()
        if not images.exists(self._client, self._images.vllm):
            with self._progress.step("Build the vLLM image") as step:
                images.build_vllm(self._client, self._images, self._state, step)

    def _boot(self, host: Future[None]) -> None:
        host.result()
        hosts.create_key(self._state)
        with self._progress.step("Boot the hosts, start the registry"):
            for one in spec.HOSTS:
                hosts.boot(self._client, self._images.host, self._state, one)
            registry.start(self._client, self._images.host, self._images.vllm)

    def _push(self, booted: Future[None], vllm: Future[None]) -> None:
        booted.result()
        vllm.result()
        if not registry.serves(self._client, self._images.vllm):
            with self._progress.step("Push the vLLM image to the registry") as step:
                registry.push(self._client, self._images.vllm, step)

    def _model(self, vllm: Future[None]) -> Any:
        vllm.result()
        if not model.directory(self._state, self._images.vllm).exists():
            with self._progress.step("Train the tiny model, complete on one host") as step:
                model.build(self._client, self._state, self._images.vllm, step)
        return model.directory(self._state, self._images.vllm)

    def _ready(self, booted: Future[None], trained: Future[Any], host: Host) -> None:
        booted.result()
        with self._progress.step(f"Wait for {host.name}"):
            hosts.wait_ready(self._client, self._state, host)
        hosts.copy_model(self._client, host, trained.result())


def _results(futures: list[Future[Any]]) -> None:
    """Wait for all; raise the first error in their order, which is that of cause and effect."""
    for future in futures:
        future.result()


def down(state: State, progress: Progress, *, purge: bool = False) -> None:
    """Remove hosts, networks and registry and stop an engine that the lab started.

    Images, downloads and the registry's content stay for the next boot; `purge` removes them too.
    """
    with state.locked():
        client = engine.connect()
        if client is None and state.engine.exists():
            # The engine that the lab had started ended by itself; what it kept is still there.
            client = engine.ensure(state, progress)
        if client:
            with progress.step("Remove hosts, registry and networks"):
                containers.remove_builds(client)
                # Deleting what an engine stored takes seconds for each.
                with ThreadPoolExecutor() as pool:
                    _results([pool.submit(hosts.remove, client, host) for host in spec.HOSTS])
                registry.remove(client)
                networks.remove(client)
            if purge:
                with progress.step("Remove the images"):
                    registry.purge(client)
                    images.remove(client)
            else:
                size = cache_bytes(client, state)
                progress.note(
                    f"The image cache stays for the next boot: {size / 1e9:.1f} GB "
                    "(`samewire lab down --purge` removes it)."
                )
        engine.stop(state, progress)
    if purge:
        shutil.rmtree(state.root)


def cache_bytes(client: DockerClient, state: State) -> int:
    """Return the size of what stays after `down`: images, registry, downloads, models; in bytes."""
    usage = client.api.df()
    # Layers that images share count once.
    layers = {
        image["Id"]: image["Size"] - max(image["SharedSize"], 0)
        for image in usage["Images"]
        if any(tag.startswith(f"{spec.PREFIX}/") for tag in image["RepoTags"] or ())
    }
    volumes = [
        volume["UsageData"]["Size"]
        for volume in usage["Volumes"]
        if volume["Name"] == spec.REGISTRY
    ]
    own = [path.stat().st_size for path in state.root.rglob("*") if path.is_file()]
    return int(sum(layers.values()) + sum(volumes) + sum(own))
