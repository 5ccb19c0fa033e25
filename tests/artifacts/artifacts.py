# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that know nothing of this clone, whose own environment would lend them its collection."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import venv
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def environment(folder: Path) -> Path:
    """Make a virtual environment with the packages of this one, without the clone; return its Python."""
    venv.create(folder, with_pip=False)
    (packages,) = (folder / "lib").glob("python*/site-packages")
    # Python reads the .pth files of its own site-packages only, so the clone's is not read here.
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return folder / "bin" / "python"


def run(
    *command: str | Path, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program without the settings of this one."""
    strange = ("ANSIBLE_", "PYTHON", "VIRTUAL_ENV")
    own = {name: value for name, value in os.environ.items() if not name.startswith(strange)}
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=own | dict(env or {}),
        capture_output=True,
        text=True,
        check=False,
    )


def output(*command: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """Return what a program prints that succeeds."""
    done = run(*command, cwd=cwd, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
