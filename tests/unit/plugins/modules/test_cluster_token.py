# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A secret in a file: made once, kept, replaced on demand."""

from __future__ import annotations

import pathlib
import stat

from tests.unit.modules import run_module


def test_cluster_token_makes_one_and_keeps_it(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "token"
    predicted = run_module("cluster_token", check=True, path=str(path))
    assert (predicted["changed"], path.exists()) == (True, False)
    first = run_module("cluster_token", path=str(path))
    assert first["changed"] is True
    assert path.read_text() == first["token"]
    assert len(first["token"]) == 64
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = run_module("cluster_token", path=str(path))
    # ansible-core before 2.21 adds the arguments of each call.
    told = [{**each, "invocation": None} for each in (first, again)]
    assert told[1] == {**told[0], "changed": False}


def test_cluster_token_replaces_another_value_and_closes_an_open_file(
    tmp_path: pathlib.Path,
) -> None:
    path = tmp_path / "token"
    path.write_text("old")
    path.chmod(0o644)
    assert run_module("cluster_token", check=True, path=str(path))["changed"] is True
    changed = run_module("cluster_token", path=str(path), value="new")
    assert (changed["changed"], path.read_text()) == (True, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert run_module("cluster_token", path=str(path), value="new")["changed"] is False
