# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What an action sends in place of Ansible's archive, and what it refuses before."""

from __future__ import annotations

import base64
import json
import types
import zlib
from typing import Any

import pytest
from ansible.plugins.action import ActionBase

from tests.unit.unpacked import ACTIONS


class Sent:
    """Runs an action whose host answers; keeps what it was sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[dict[str, Any]] = []
        monkeypatch.setattr(ActionBase, "run", lambda *_: {})

    def __call__(self, name: str, **arguments: Any) -> dict[str, Any]:
        action = ACTIONS[name].__new__(ACTIONS[name])
        action._task = types.SimpleNamespace(args=arguments, action=f"samewire.vllm.{name}")

        def execute(
            module_name: str, module_args: dict[str, Any], task_vars: Any
        ) -> dict[str, Any]:
            assert (module_name, task_vars) == ("samewire.vllm.unpacked", {})
            self.asked.append(module_args)
            return {"changed": True}

        action._execute_module = execute
        return dict(action.run(task_vars={}))


@pytest.fixture
def send(monkeypatch: pytest.MonkeyPatch) -> Sent:
    return Sent(monkeypatch)


@pytest.mark.parametrize("name", ACTIONS)
def test_the_module_is_that_of_the_action(name: str) -> None:
    assert ACTIONS[name].module.__name__.rpartition(".")[2] == name
    sources = json.loads(zlib.decompress(base64.b64decode(ACTIONS[name].sources)))
    assert ACTIONS[name].module.__name__ in sources
    # The hosts must not unpack what only the controller uses.
    assert not any(
        each.startswith("ansible_collections.samewire.vllm.plugins.plugin_utils")
        for each in sources
    )


@pytest.mark.parametrize("name", ACTIONS)
def test_each_module_can_be_tried(name: str) -> None:
    # What says that a module changes nothing in check mode is not sent: all must hold to it.
    assert ACTIONS[name].module.SPEC["supports_check_mode"] is True


def test_arguments_are_sent_as_the_module_has_them(send: Sent) -> None:
    result = send("node_files", path="~/pair", files={"a": "b"})
    (sent,) = send.asked
    assert result == {"changed": True}
    assert json.loads(base64.b64decode(sent["arguments"])) == {
        # The home is the host's.
        "path": "~/pair",
        "files": {"a": "b"},
        "directories": {},
    }


def test_no_path_is_expanded_on_the_controller(send: Sent) -> None:
    paths = {"directory": "~/a", "paths": ["~/b"], "weights": {"path": "~/c", "hashes": "$HOME/d"}}
    send("node_info", cluster="pair", image="i", **paths)
    sent = json.loads(base64.b64decode(send.asked[0]["arguments"]))
    weights = sent.pop("weights")
    assert (sent["directory"], sent["paths"]) == ("~/a", ["~/b"])
    assert (weights["path"], weights["hashes"]) == ("~/c", "$HOME/d")


@pytest.mark.parametrize(
    ("arguments", "msg"),
    [
        ({}, "missing required arguments: path"),
        (
            {"path": "/d", "file": {}},
            "Unsupported parameters for samewire.vllm.node_files: file. Supported parameters include: "
            "directories, files, path.",
        ),
        (
            {"path": "/d", "files": ["a"]},
            "argument 'files' is of type list and we were unable to convert to dict: "
            "<class 'list'> cannot be converted to a dict",
        ),
    ],
)
def test_bad_arguments_do_not_reach_the_host(
    send: Sent, arguments: dict[str, Any], msg: str
) -> None:
    assert send("node_files", **arguments) == {"failed": True, "msg": msg}
    assert send.asked == []
