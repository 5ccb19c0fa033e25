# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the Docker SDK leaves to its callers: running a command, reading the end of a log."""

from typing import cast

from docker.models.containers import Container


def execute(container: Container, command: list[str]) -> tuple[int, str]:
    """Run a command in a container; return its exit code and standard output."""
    done = container.exec_run(command, stderr=False)
    # Neither streamed nor detached, so the code is known and the output is all there.
    return cast("int", done.exit_code), cast("bytes", done.output).decode(errors="replace")


def last_words(container: Container) -> str:
    """Return the last three lines of a container's log as one line."""
    return container.logs(tail=3).decode(errors="replace").strip().replace("\n", " | ")
