# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The container of before a change: what it is called, and where the server in it answers."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.samewire.vllm.plugins.module_utils import _server_state

_MARK = "-before"


def before(name: str) -> str:
    """Return what a container is called while its successor has not proven itself."""
    return f"{name}{_MARK}"


def is_before(name: str) -> bool:
    """Return whether a container is kept for the case that its successor fails."""
    return name.endswith(_MARK)


def server_url(command: Sequence[str]) -> str | None:
    """Return where a server answers on its own host, None where its command does not say so.

    command: of the container; the inventory may name another port by now.
    """
    given = dict(zip(command, command[1:], strict=False))
    if not given.get("--port", "").isdigit():
        return None
    host = given.get("--host", "0.0.0.0")  # noqa: S104
    tls = "--ssl-certfile" in command
    return _server_state.local_url(host, int(given["--port"]), tls=tls)
