# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The wheel brings the driver and the collection, into an environment that knows nothing of this clone."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.artifacts.artifacts import ROOT, environment, output


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into a fresh environment, and put facts beside it."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip")
    build = ("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT)
    output(*pip, *build, cwd=folder)
    (wheel,) = folder.glob("samewire-*.whl")
    fresh = environment(folder / "venv")
    output(*pip, "--python", fresh, "install", "--no-deps", "--no-index", wheel, cwd=folder)
    shutil.copytree(ROOT / "docs" / "examples", folder / "examples")
    return fresh


def said(python: Path, *arguments: str) -> str:
    return output(python.with_name("samewire"), *arguments, cwd=python.parents[2])


def test_the_driver_starts(python: Path) -> None:
    assert "with every layer on the same wire" in said(python, "--help")


def test_it_plans_away_from_the_repository(python: Path) -> None:
    planned = said(python, "plan", "--facts", "examples/dgx-spark-pair.yml")
    assert planned.startswith("Network    192.168.200.0/24, rdma, MTU 9000\n")


def test_it_has_the_collection_of_its_own(python: Path) -> None:
    program = "from samewire import locate; print(locate.collection())"
    collection = Path(output(python, "-c", program, cwd=python.parents[2]).strip())
    assert collection.is_relative_to(python.parents[1])
    for part in ("playbooks/deploy.yml", "roles/wire", "inventories/dgx-spark-pair"):
        assert (collection / part).exists()
