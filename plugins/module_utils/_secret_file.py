# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A secret in a file that only its owner reads."""

from __future__ import annotations

import os
from typing import Any

_MODE = 0o600


def read(path: str) -> str | None:
    """Return the secret that a file holds, None where there is no file."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except FileNotFoundError:
        return None


def keep(module: Any, path: str, secret: str) -> bool:
    """Make a file hold a secret; return whether that changes, or in check mode would change, anything.

    module: the AnsibleModule that does it.
    """
    changed = secret != read(path) or (os.stat(path).st_mode & 0o777) != _MODE
    if changed and not module.check_mode:
        temporary = f"{path}.new"
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _MODE), "w") as file:
            file.write(secret)
        module.atomic_move(temporary, path)
        os.chmod(path, _MODE)
    return changed


def written(path: str) -> str:
    """Return when a file was written, in nanoseconds; it changes with the secret and tells nothing of it."""
    return str(os.stat(path).st_mtime_ns)
