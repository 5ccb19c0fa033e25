# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Files in a folder on the controller, of which only those are written anew that change."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = 0o700
FILE = 0o644
SECRET = 0o600


@dataclass
class Kept:
    """What was written and removed, by name, and how the files differ that are no secrets."""

    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    diff: list[dict[str, str]] = field(default_factory=list)


def keep(
    folder: Path, files: Mapping[str, str], secrets: Mapping[str, str], *, check: bool = False
) -> Kept:
    """Make a folder hold files and secrets, and nothing under a name whose content is empty.

    check: only say what would change. Other files are left alone, and none is ever half written.

    Raises:
        OSError: A file cannot be read, written or removed.
    """
    kept = Kept()
    if _mode(folder) != FOLDER:
        kept.written.append(str(folder))
        if not check:
            folder.mkdir(parents=True, exist_ok=True)
            # The umask does not hold for what is said here.
            folder.chmod(FOLDER)
    for contents, mode in ((files, FILE), (secrets, SECRET)):
        for name, content in sorted(contents.items()):
            path = folder / name
            before = _content(path)
            if not content and before is not None:
                kept.removed.append(name)
                if not check:
                    path.unlink()
            elif content and (content != before or _mode(path) != mode):
                kept.written.append(name)
                if not check:
                    _write(path, content, mode)
            else:
                continue
            if mode == FILE:
                kept.diff.append({"header": str(path), "before": before or "", "after": content})
    return kept


def _mode(path: Path) -> int | None:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None


def _content(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None


def _write(path: Path, content: str, mode: int) -> None:
    new = path.with_name(f"{path.name}.new")
    # What an earlier run left may be open to others.
    new.unlink(missing_ok=True)
    new.touch(mode=SECRET)
    new.write_text(content, encoding="utf-8")
    new.chmod(mode)
    new.replace(path)
