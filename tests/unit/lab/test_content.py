# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Content keys: equal inputs, equal names; any difference, another name."""

from pathlib import Path

import pytest

from samewire_lab import content
from samewire_lab.images import INPUTS, Images


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "inner").mkdir()
    (tmp_path / "build.sh").write_text("true\n")
    (tmp_path / "inner" / "list.txt").write_text("one\n")
    return tmp_path


def test_a_key_is_short_and_stable(folder: Path) -> None:
    assert content.key("recipe", folder) == content.key("recipe", folder)
    assert len(content.key("recipe", folder)) == 12


@pytest.mark.parametrize("name", ["build.sh", "inner/list.txt"])
def test_a_changed_file_changes_the_key(folder: Path, name: str) -> None:
    before = content.key(folder)
    (folder / name).write_text("false\n")
    assert content.key(folder) != before


def test_a_renamed_file_changes_the_key(folder: Path) -> None:
    before = content.key(folder)
    (folder / "build.sh").rename(folder / "make.sh")
    assert content.key(folder) != before


def test_byte_code_does_not_change_the_key(folder: Path) -> None:
    before = content.key(folder)
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "x.pyc").write_bytes(b"\0")
    assert content.key(folder) == before


def test_neighbouring_parts_do_not_run_together() -> None:
    assert content.key("ab", "c") != content.key("a", "bc")


def test_the_base_is_part_of_what_stands_on_it(tmp_path: Path) -> None:
    for name in ("base", "host", "vllm"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    before = Images.current(tmp_path)
    (tmp_path / "base" / "file").write_text("another")
    after = Images.current(tmp_path)
    assert all(old != new for old, new in zip(before.all(), after.all(), strict=True))


def test_a_changed_host_leaves_the_vllm_image_alone(tmp_path: Path) -> None:
    for name in ("base", "host", "vllm"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    before = Images.current(tmp_path)
    (tmp_path / "host" / "file").write_text("another")
    after = Images.current(tmp_path)
    assert (before.base, before.vllm) == (after.base, after.vllm)
    assert before.host != after.host


def test_the_package_ships_the_inputs() -> None:
    for name in ("base/packages.txt", "host/build.sh", "vllm/build.sh", "model/train.py"):
        assert (INPUTS / name).is_file()
