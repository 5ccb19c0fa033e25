# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Files on the controller: their modes, what changes, and what goes."""

from __future__ import annotations

import pathlib
import stat

import pytest

from ansible_collections.samewire.vllm.plugins.plugin_utils import _controller_files

FILES = {"plan.json": "{}\n", "api.crt": "PEM\n"}
SECRETS = {"api_key": "secret"}


def mode(path: pathlib.Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_made_once(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "clusters/pair"
    would = _controller_files.keep(folder, FILES, SECRETS, check=True)
    assert would.written == [str(folder), "api.crt", "plan.json", "api_key"]
    assert not folder.exists()
    assert _controller_files.keep(folder, FILES, SECRETS) == would
    modes = {".": 0o700, "plan.json": 0o644, "api.crt": 0o644, "api_key": 0o600}
    assert {name: mode(folder / name) for name in modes} == modes
    assert (folder / "api_key").read_text() == "secret"
    assert _controller_files.keep(folder, FILES, SECRETS) == _controller_files.Kept()
    assert sorted(each.name for each in folder.iterdir()) == ["api.crt", "api_key", "plan.json"]


def test_what_is_empty_goes_and_others_stay(tmp_path: pathlib.Path) -> None:
    _controller_files.keep(tmp_path, FILES, SECRETS)
    (tmp_path / "last-run.log").touch()
    gone = {"plan.json": "[]\n", "api.crt": ""}, {"api_key": ""}
    would = _controller_files.keep(tmp_path, *gone, check=True)
    assert (would.written, would.removed) == (["plan.json"], ["api.crt", "api_key"])
    # No diff shows a secret.
    assert would.diff == [
        {"header": f"{tmp_path}/api.crt", "before": "PEM\n", "after": ""},
        {"header": f"{tmp_path}/plan.json", "before": "{}\n", "after": "[]\n"},
    ]
    assert (tmp_path / "api_key").exists()
    assert _controller_files.keep(tmp_path, *gone) == would
    assert sorted(each.name for each in tmp_path.iterdir()) == ["last-run.log", "plan.json"]
    assert _controller_files.keep(tmp_path, *gone) == _controller_files.Kept()


def test_what_others_may_read_is_closed(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "pair"
    _controller_files.keep(folder, FILES, SECRETS)
    folder.chmod(0o755)
    (folder / "api_key").chmod(0o644)
    # An interrupted run of somebody else left it.
    (folder / "api_key.new").write_text("half")
    (folder / "api_key.new").chmod(0o644)
    assert _controller_files.keep(folder, FILES, SECRETS).written == [str(folder), "api_key"]
    assert (mode(folder), mode(folder / "api_key")) == (0o700, 0o600)
    assert not (folder / "api_key.new").exists()


def test_a_file_that_is_read_meanwhile_is_whole(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _controller_files.keep(tmp_path, FILES, SECRETS)

    def broken(path: pathlib.Path, *_: object, **__: object) -> int:
        path.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pathlib.Path, "write_text", broken)
    with pytest.raises(OSError, match="No space left"):
        _controller_files.keep(tmp_path, {"plan.json": "[]\n"}, {})
    assert (tmp_path / "plan.json").read_text() == "{}\n"
