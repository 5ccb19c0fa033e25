# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the Docker SDK leaves to its callers: commands, the end of a log, containers that build."""

from typing import cast

from docker import DockerClient
from docker.models.containers import Container

from samewire_lab.spec import PREFIX

BUILD = f"{PREFIX}-build"


def execute(container: Container, command: list[str]) -> tuple[int, str]:
    """Run a command in a container; return its exit code and standard output."""
    done = container.exec_run(command, stderr=False)
    # Neither streamed nor detached, so the code is known and the output is all there.
    return cast("int", done.exit_code), cast("bytes", done.output).decode(errors="replace")


def last_words(container: Container) -> str:
    """Return the last three lines of a container's log as one line."""
    return container.logs(tail=3).decode(errors="replace").strip().replace("\n", " | ")


def build_name(image: str) -> str:
    """Return the name of the container that builds an image ("samewire-lab/host:0123...")."""
    return f"{BUILD}-{image.rpartition('/')[2].replace(':', '-')}"


def remove_builds(client: DockerClient) -> None:
    """Remove the containers of builds, running ones and those of a run that was cut off."""
    for container in client.containers.list(all=True, filters={"name": f"^{BUILD}-"}):
        container.remove(force=True)
