# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Content keys: what is built from equal inputs has an equal name."""

import hashlib
from pathlib import Path


def key(*parts: str | Path) -> str:
    """Return 12 hex digits over strings, files, and folders with all files below them."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            _add(digest, "text", part.encode())
        elif part.is_dir():
            for path in sorted(part.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    _add(digest, path.relative_to(part).as_posix(), path.read_bytes())
        else:
            _add(digest, part.name, part.read_bytes())
    return digest.hexdigest()[:12]


def _add(digest: "hashlib._Hash", name: str, content: bytes) -> None:
    # Lengths keep neighbours apart: ("ab", "c") is not ("a", "bc").
    digest.update(f"{name}\0{len(content)}\0".encode())
    digest.update(content)
