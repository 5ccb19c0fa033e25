# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A certificate and its key in files: what is there, and what is given."""

from __future__ import annotations

import pathlib
import stat
from typing import Any

import pytest

from tests.unit.certificates import issued
from tests.unit.modules import run_module

CERTIFICATE, KEY = issued("node0")
OTHER, OTHER_KEY = issued("node0")


def run(directory: pathlib.Path, check: bool = False, **given: str) -> dict[str, Any]:
    common = {"directory": str(directory), "cluster": "pair", "names": ["node0"]}
    result = run_module("api_certificate", check, **common, **given)
    assert "PRIVATE" not in str(result)
    return {name: result[name] for name in ("changed", "certificate", "written")}


def kept(directory: pathlib.Path) -> tuple[str, str]:
    for name in ("api.crt", "api.key"):
        assert stat.S_IMODE((directory / name).stat().st_mode) == 0o600
    return (directory / "api.crt").read_text(), (directory / "api.key").read_text()


def test_a_pair_is_kept_until_there_is_another(tmp_path: pathlib.Path) -> None:
    nothing = {"changed": False, "certificate": "", "written": ""}
    assert run(tmp_path) == nothing
    predicted = run(tmp_path, check=True, certificate=CERTIFICATE, key=KEY)
    assert predicted == {"changed": True, "certificate": CERTIFICATE.strip(), "written": ""}
    assert list(tmp_path.iterdir()) == []
    first = run(tmp_path, certificate=CERTIFICATE, key=KEY)
    assert first["changed"] is True
    assert first["written"]
    assert kept(tmp_path) == (CERTIFICATE.strip(), KEY.strip())
    for again in ({}, {"certificate": CERTIFICATE, "key": KEY}):
        assert run(tmp_path, **again) == {**first, "changed": False}
    other = run(tmp_path, certificate=OTHER, key=OTHER_KEY)
    assert (other["changed"], other["certificate"]) == (True, OTHER.strip())
    assert other["written"] != first["written"]
    assert kept(tmp_path) == (OTHER.strip(), OTHER_KEY.strip())


@pytest.mark.parametrize(
    ("certificate", "key"),
    [(CERTIFICATE, OTHER_KEY), (CERTIFICATE, ""), ("nothing", KEY), (CERTIFICATE, None)],
)
def test_what_is_no_pair_is_nothing(
    tmp_path: pathlib.Path, certificate: str, key: str | None
) -> None:
    (tmp_path / "api.crt").write_text(certificate)
    if key is not None:
        (tmp_path / "api.key").write_text(key)
    assert run(tmp_path)["certificate"] == ""


def test_an_open_key_is_closed(tmp_path: pathlib.Path) -> None:
    run(tmp_path, certificate=CERTIFICATE, key=KEY)
    (tmp_path / "api.key").chmod(0o644)
    assert run(tmp_path, certificate=CERTIFICATE, key=KEY)["changed"] is True
    assert kept(tmp_path) == (CERTIFICATE.strip(), KEY.strip())
