# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""SHA-256 of whole files, computed once for each state of a file."""

from __future__ import annotations

import hashlib
import json
from typing import Any, BinaryIO, Protocol

_CHUNK = 8 << 20


class Stat(Protocol):
    """What os.stat says of a file, as far as it tells one state of it from another."""

    @property
    def st_size(self) -> int: ...

    @property
    def st_mtime_ns(self) -> int: ...

    @property
    def st_ino(self) -> int: ...


def sha256(stream: BinaryIO) -> str:
    """Return the SHA-256 of a stream to its end, as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    while chunk := stream.read(_CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


class Hashes:
    """Hashes by path; one is known while size, time of change and inode are those of before."""

    def __init__(self, text: str = "") -> None:
        """Read what `text` returned before; what is not of that form counts as nothing."""
        self._known: dict[str, list[Any]] = {}
        try:
            self._known = {
                path: [int(size), int(mtime), int(inode), str(digest)]
                for path, (size, mtime, inode, digest) in json.loads(text or "{}").items()
            }
        except (ValueError, TypeError, AttributeError):
            return

    def get(self, path: str, stat: Stat) -> str | None:
        """Return the hash of a file in this state, None where it is to be computed."""
        *state, digest = self._known.get(path, [None])
        return digest if state == _state(stat) else None

    def keep(self, path: str, stat: Stat, digest: str) -> None:
        """Remember the hash of a file in this state."""
        self._known[path] = [*_state(stat), digest]

    def text(self) -> str:
        """Return what to hand to a later instance."""
        return json.dumps(self._known, sort_keys=True)


def _state(stat: Stat) -> list[int]:
    return [stat.st_size, stat.st_mtime_ns, stat.st_ino]
