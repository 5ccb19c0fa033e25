# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The action writes what the module packed, and nothing outside of the host's folder."""

from __future__ import annotations

import pathlib
import stat
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail

from ansible_collections.samewire.vllm.plugins.action import node_logs
from ansible_collections.samewire.vllm.plugins.module_utils import _bundle


def run(
    monkeypatch: pytest.MonkeyPatch, seen: dict[str, Any], dest: pathlib.Path, **documents: Any
) -> dict[str, Any]:
    """Return the action's result where its module says `seen`."""
    monkeypatch.setattr(node_logs.ActionBase, "run", lambda *_: {})
    action = node_logs.ActionModule.__new__(node_logs.ActionModule)
    action._task = SimpleNamespace(args={"dest": str(dest), "documents": documents})
    action._execute_module = lambda **_: dict(seen)
    return dict(action.run(task_vars={"inventory_hostname": "node1"}))


def test_files_of_the_host(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    packed = _bundle.pack({"ray/worker-1.err": "more", "c-ray.log": "text"})
    seen = {"packed": packed, "tails": {"c-ray.log": ["text"]}}
    documents = {"facts.json": {"HF_TOKEN": "a-long-secret"}, "status.txt": "up", "none.json": {}}
    made = run(monkeypatch, seen, tmp_path / "b", **documents)
    assert made == {
        "changed": False,
        "files": ["c-ray.log", "facts.json", "ray/worker-1.err", "status.txt"],
        "tails": {"node1/c-ray.log": ["text"]},
    }
    folder = tmp_path / "b/node1"
    assert (folder / "ray/worker-1.err").read_text() == "more"
    assert (folder / "facts.json").read_text() == '{\n  "HF_TOKEN": "(hidden)"\n}'
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_host_that_would_write_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    seen = {"packed": _bundle.pack({"../../x": "text"}), "tails": {}}
    with pytest.raises(AnsibleActionFail) as failed:
        run(monkeypatch, seen, tmp_path / "b")
    assert str(failed.value) == (
        "node1: its logs cannot be kept on the controller: '../../x' is no name of a file in it"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_failed_module(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    made = run(monkeypatch, {"failed": True, "msg": "why"}, tmp_path)
    assert made == {"failed": True, "msg": "why"}
