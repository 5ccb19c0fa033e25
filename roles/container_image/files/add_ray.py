# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Runs while an image is built, on the Python of its vLLM: add Ray, and leave all other packages as they are.

add_ray.py REQUIREMENT [ARGUMENT OF PIP]...
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
import subprocess
import sys
import tempfile


def held() -> list[str]:
    """Return what the image has, as constraints of pip."""
    return sorted(
        {
            f"{found.metadata['Name']}=={found.version}"
            for found in importlib.metadata.distributions()
        }
    )


def installer() -> list[str]:
    """Return the command that installs packages beside the image's own."""
    if importlib.util.find_spec("pip"):
        return [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--no-cache-dir",
            "--disable-pip-version-check",
        ]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--no-cache", "--python", sys.executable]
    raise SystemExit("ERROR: the image has neither pip nor uv")


def main() -> None:
    """Install, or end with the installer's code."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as constraints:
        constraints.write("\n".join(held()))
        constraints.flush()
        command = [*installer(), "--constraint", constraints.name, *sys.argv[2:], "--", sys.argv[1]]
        raise SystemExit(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    main()
