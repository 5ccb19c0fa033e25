# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The tiny model, and what one host alone completes with it: trained and computed, then cached."""

import shutil
from pathlib import Path

from docker import DockerClient
from docker.types import Mount

from samewire_lab import content, spec
from samewire_lab.containers import BUILD, last_words
from samewire_lab.errors import LabError
from samewire_lab.images import INPUTS
from samewire_lab.progress import Step
from samewire_lab.state import State

STAGES = (
    ("train.py", "train the model"),
    ("reference.py", "complete a prompt on one host"),
)


def directory(state: State, vllm: str) -> Path:
    """Return where the model lies that belongs to this image and these inputs."""
    return state.models / content.key(vllm, INPUTS / "model")


def build(client: DockerClient, state: State, vllm: str, step: Step) -> Path:
    """Return the model's directory, built in the vLLM image where it is not cached."""
    target = directory(state, vllm)
    if not target.exists():
        work = target.with_suffix(".part")
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        for number, (script, title) in enumerate(STAGES):
            step.update(fraction=number / len(STAGES), detail=title)
            _run(client, vllm, script, work)
        work.rename(target)
    return target


def _run(client: DockerClient, image: str, script: str, work: Path) -> None:
    container = client.containers.create(
        image,
        [f"/inputs/{script}", spec.MODEL_PATH],
        name=f"{BUILD}-model",
        entrypoint="/opt/vllm-env/bin/python",
        # Nothing is downloaded; the parts of vLLM talk over loopback.
        network_mode="none",
        shm_size="1g",
        init=True,
        mounts=[
            Mount("/inputs", str(INPUTS / "model"), type="bind", read_only=True),
            Mount(spec.MODEL_PATH, str(work), type="bind"),
        ],
    )
    try:
        container.start()
        if container.wait()["StatusCode"]:
            raise LabError(f"{script} failed in {image}: {last_words(container)}")
    finally:
        container.remove(force=True)
