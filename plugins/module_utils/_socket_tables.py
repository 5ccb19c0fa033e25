# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The TCP sockets of a host, as its kernel lists them."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.samewire.vllm.plugins.module_utils import _sockets


def sockets() -> Iterator[_sockets.TcpSocket]:
    """Yield all TCP sockets of the host's own network; a table that cannot be read has none."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, encoding="ascii") as file:
                found = _sockets.parse(file)
        except OSError:
            continue
        yield from found
