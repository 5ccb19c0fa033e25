# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Python packages of the vLLM image, downloaded with the machine's own pip configuration.

The image is then built from the files alone, so that no configuration of the machine enters it.
"""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from samewire_lab.errors import LabError
from samewire_lab.progress import Step

INDEX_VARIABLE = "SAMEWIRE_TORCH_INDEX"
UV = "uv==0.13.9"
# What the image runs: CPython 3.11 on the C library of Debian 12.
TARGET = [
    "--only-binary=:all:",
    "--python-version=3.11",
    "--implementation=cp",
    "--abi=cp311",
    "--abi=abi3",
    "--abi=none",
    *(f"--platform=manylinux_2_{minor}_x86_64" for minor in range(36, 4, -1)),
    *(f"--platform={name}_x86_64" for name in ("manylinux2014", "manylinux2010", "manylinux1")),
    "--platform=linux_x86_64",
]


def requirements(text: str) -> list[str]:
    """Return the pinned requirements ("name==version") of a requirements file."""
    return [line for line in map(str.strip, text.splitlines()) if line and line[0] != "#"]


def normalized(name: str) -> str:
    """Return a distribution's name as packaging compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def missing(wanted: list[str], files: list[str]) -> list[str]:
    """Return the requirements for which no wheel is among the file names."""
    present = {
        (normalized(name), version) for name, version in (file.split("-")[:2] for file in files)
    }
    return [
        requirement
        for requirement in wanted
        if (normalized(requirement.split("==")[0]), requirement.split("==")[1]) not in present
    ]


def failure(error: str) -> str:
    """Turn pip's error output into one sentence."""
    absent = re.search(r"No matching distribution found for (\S+)", error)
    if absent and absent[1].startswith("torch=="):
        return (
            f"{absent[1]} is not offered by this machine's pip configuration; set "
            f"{INDEX_VARIABLE} to the address of PyTorch's CPU wheel index and run it again."
        )
    if absent:
        return (
            f"{absent[1]} is not offered by this machine's pip configuration (`pip config list`)."
        )
    reason = [line for line in error.splitlines() if line.startswith("ERROR")] or [
        "no reason given"
    ]
    return f"pip could not download the Python packages of the lab: {reason[-1]}"


def download(wanted: list[str], directory: Path, step: Step) -> None:
    """Bring all wanted wheels and uv into the directory; what is there already stays."""
    directory.mkdir(parents=True, exist_ok=True)
    absent = missing([*wanted, UV], [file.name for file in directory.glob("*.whl")])
    if not absent:
        return
    command = [*_pip(), "download", "--no-deps", "--dest", str(directory), *TARGET, *absent]
    if index := os.environ.get(INDEX_VARIABLE):
        command += ["--extra-index-url", index]
    with subprocess.Popen(
        command,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_PROGRESS_BAR": "off"},
    ) as process:
        output = []
        done = 0
        for line in process.stdout or ():
            output.append(line)
            if line.startswith("Collecting "):
                done += 1
                step.update(fraction=done / len(absent), detail=line.split()[1])
    if process.returncode:
        raise LabError(failure("".join(output)))


def extract_uv(directory: Path, target: Path) -> None:
    """Put uv's program, out of its wheel in the directory, at the target path."""
    name, version = UV.split("==")
    wheel = next(directory.glob(f"{name}-{version}-*.whl"))
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        zipfile.ZipFile(wheel) as archive,
        archive.open(f"{name}-{version}.data/scripts/uv") as source,
        target.open("wb") as copy,
    ):
        shutil.copyfileobj(source, copy)
    target.chmod(0o755)


def _pip() -> list[str]:
    """Return the command of the first pip: the running Python's, else that of the PATH."""
    for python in (sys.executable, "python3", "/usr/bin/python3"):
        command = [python, "-m", "pip"]
        try:
            found = subprocess.run([*command, "--version"], capture_output=True, check=False)
        except FileNotFoundError:
            continue
        if found.returncode == 0:
            return command
    raise LabError(
        "No pip is on this machine; install it, on Debian with `apt-get install python3-pip`."
    )
