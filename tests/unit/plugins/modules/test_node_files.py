# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Directories and files are made once, with their modes, and named when they change."""

from __future__ import annotations

import pathlib
import stat
from typing import Any

from tests.unit.modules import run_module


def keep(base: pathlib.Path, check: bool = False, **changes: str) -> dict[str, Any]:
    return run_module(
        "node_files",
        check=check,
        path=str(base),
        directories={"secrets": "0700", "ray": "0777"},
        files={"node/run.sh": "text\n", "node/vllm/names.json": "[]\n", **changes},
    )


def mode(path: pathlib.Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


ALL = ["node", "node/vllm", "ray", "secrets", "node/run.sh", "node/vllm/names.json"]


def test_made_once(tmp_path: pathlib.Path) -> None:
    base = tmp_path / "a/pair"
    would = keep(base, check=True)
    assert (would["changed"], would["written"]) == (True, [str(base), *ALL])
    assert not base.exists()
    assert keep(base)["written"] == [str(base), *ALL]
    modes = {"": 0o700, "secrets": 0o700, "ray": 0o777, "node": 0o755, "node/vllm": 0o755}
    assert {name: mode(base / name) for name in modes} == modes
    assert (base / "node/run.sh").read_text() == "text\n"
    assert mode(base / "node/run.sh") == 0o644
    again = keep(base)
    assert (again["changed"], again["written"], again["diff"]) == (False, [], [])


def test_what_changes_is_shown(tmp_path: pathlib.Path) -> None:
    keep(tmp_path)
    (tmp_path / "ray").chmod(0o755)
    (tmp_path / "node/other").touch()
    made = keep(tmp_path, **{"node/run.sh": "new\n"})
    assert made["written"] == ["ray", "node/run.sh"]
    assert made["diff"] == [
        {"header": f"{tmp_path}/node/run.sh", "before": "text\n", "after": "new\n"}
    ]
    assert mode(tmp_path / "ray") == 0o777
    assert sorted(each.name for each in (tmp_path / "node").iterdir()) == [
        "other",
        "run.sh",
        "vllm",
    ]


def test_a_place_that_cannot_be_written(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").touch()
    made = keep(tmp_path / "file/pair")
    assert made["failed"] is True
    assert made["msg"].startswith(f"{tmp_path}/file/pair: its files cannot be written: ")
