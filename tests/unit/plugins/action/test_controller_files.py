# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The action keeps files without a module, and tells no secret."""

from __future__ import annotations

import json
import pathlib
import types
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.action import ActionBase

from ansible_collections.samewire.vllm.plugins.action import controller_files


@pytest.fixture(autouse=True)
def _base(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ActionBase, "run", lambda *_: {})


def keep(base: pathlib.Path, check: bool = False, **arguments: Any) -> dict[str, Any]:
    """Return the action's result, of a playbook in the folder `base`."""
    action = controller_files.ActionModule.__new__(controller_files.ActionModule)
    action._task = types.SimpleNamespace(check_mode=check, args=arguments)
    action._load_name = "controller_files"
    action._loader = DataLoader()
    action._loader.set_basedir(str(base))
    return dict(action.run(task_vars={}))


def test_files_and_secrets(tmp_path: pathlib.Path) -> None:
    asked = {"path": "pair", "files": {"a.json": "{}\n"}, "secrets": {"api_key": "hidden"}}
    would = keep(tmp_path, check=True, **asked)
    made = keep(tmp_path, **asked)
    assert made == would
    folder = tmp_path / "pair"
    assert (made["changed"], made["written"]) == (True, [str(folder), "a.json", "api_key"])
    assert (folder / "api_key").read_text() == "hidden"
    assert "hidden" not in json.dumps(made)
    again = keep(tmp_path, **asked)
    assert again == {"changed": False, "written": [], "removed": [], "diff": []}
    assert keep(tmp_path, path="pair", secrets={"api_key": ""})["removed"] == ["api_key"]


def test_the_home_of_whoever_runs_it(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    keep(pathlib.Path("/"), path="~/clusters", files={"a": "b"})
    assert (tmp_path / "clusters/a").read_text() == "b"


def test_a_place_that_cannot_be_written(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(AnsibleActionFail) as refused:
        keep(tmp_path, path="file/pair", files={"a": "b"})
    start = f"{tmp_path}/file/pair: its files cannot be written on the controller: "
    assert str(refused.value).startswith(start)


def test_a_misspelt_argument(tmp_path: pathlib.Path) -> None:
    with pytest.raises(AnsibleError, match="Unsupported parameters"):
        keep(tmp_path, path="pair", file={"a": "b"})
