# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Secrets in files: made once, kept, replaced on demand."""

from __future__ import annotations

import pathlib
import stat
from typing import Any

from tests.unit.modules import run_module


def keep(folder: pathlib.Path, *, check: bool = False, **secrets: str | None) -> dict[str, Any]:
    return run_module("cluster_secrets", check=check, directory=str(folder), secrets=secrets)


def test_what_is_empty_is_made_once_and_kept(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "token"
    predicted = keep(tmp_path, check=True, token="")
    assert (predicted["changed"], path.exists()) == (True, False)
    assert predicted["secrets"]["token"]["written"] == ""
    first = keep(tmp_path, token="")
    assert first["changed"] is True
    assert path.read_text() == first["secrets"]["token"]["value"]
    assert len(path.read_text()) == 64
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = keep(tmp_path, token="")
    assert (again["changed"], again["secrets"]) == (False, first["secrets"])


def test_another_value_replaces_it_and_an_open_file_is_closed(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "token"
    path.write_text("old")
    path.chmod(0o644)
    assert keep(tmp_path, check=True, token="new")["changed"] is True
    changed = keep(tmp_path, token="new")
    assert (changed["changed"], path.read_text()) == (True, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert keep(tmp_path, token="new")["changed"] is False


def test_what_is_null_is_read_and_never_made_up(tmp_path: pathlib.Path) -> None:
    absent = keep(tmp_path, token=None)
    assert absent["secrets"] == {"token": {"value": "", "written": ""}}
    assert (absent["changed"], list(tmp_path.iterdir())) == (False, [])
    made = keep(tmp_path, token="")
    assert keep(tmp_path, token=None)["secrets"] == made["secrets"]


def test_each_has_a_file_of_its_own(tmp_path: pathlib.Path) -> None:
    found = keep(tmp_path, token="", key="given")["secrets"]
    assert found["key"]["value"] == (tmp_path / "key").read_text() == "given"
    assert found["token"]["value"] == (tmp_path / "token").read_text() != "given"
