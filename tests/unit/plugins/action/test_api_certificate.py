# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""When the controller makes a certificate, and when it leaves the one that is there."""

from __future__ import annotations

import types
from typing import Any

import pytest
from ansible.plugins.action import ActionBase

from ansible_collections.samewire.vllm.plugins.action import api_certificate
from ansible_collections.samewire.vllm.plugins.plugin_utils import _certificate
from tests.unit.certificates import DAY, NOW, issued

NAMES = ["spark_0", "10.1.2.3"]
WANTED = ["10.1.2.3", "localhost", "127.0.0.1", "::1"]


class Run:
    """Runs the action on a host that keeps what the module is given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.held = ""
        self.asked: list[dict[str, Any]] = []
        self._patch = monkeypatch

    def __call__(self, **arguments: Any) -> dict[str, Any]:
        self.asked.clear()
        action = api_certificate.ActionModule.__new__(api_certificate.ActionModule)
        common = {"directory": "/d", "cluster": "pair", "names": NAMES}
        action._task = types.SimpleNamespace(args={**common, **arguments})

        def execute(module_args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
            self.asked.append(dict(module_args))
            given = module_args.get("certificate", "")
            changed = given not in ("", self.held)
            self.held = given or self.held
            return {"changed": changed, "certificate": self.held}

        self._patch.setattr(action, "_execute_module", execute, raising=False)
        self._patch.setattr(ActionBase, "run", lambda *_: {})
        return dict(action.run(task_vars={}))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(monkeypatch)


def test_one_is_made_and_then_left_alone(run: Run) -> None:
    first = run()
    assert first["changed"] is True
    assert _certificate.read(first["certificate"]).names == set(WANTED)
    _certificate.check_key(first["certificate"], run.asked[1]["key"])
    assert run() == {**first, "changed": False}
    assert [each["names"] for each in run.asked] == [WANTED]


def test_one_that_lacks_a_name_gives_way(run: Run) -> None:
    run()
    assert run(names=[*NAMES, "api.example.org"])["changed"] is True
    assert "api.example.org" in _certificate.read(run.held).names
    # One that is for more stays.
    assert run()["changed"] is False


def test_one_that_ends_soon_gives_way(run: Run) -> None:
    run.held, _ = _certificate.make("pair", WANTED, NOW - 368 * DAY)
    assert run()["changed"] is True
    assert _certificate.read(run.held).ends > NOW + 396 * DAY


def test_one_that_was_given_before_gives_way(run: Run) -> None:
    given, key = issued(*NAMES)
    assert run(certificate=given, key=key)["certificate"] == given
    assert [(each["certificate"], each["key"]) for each in run.asked] == [(given, key)]
    assert run()["certificate"] != given


def test_a_module_that_fails(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    action = api_certificate.ActionModule.__new__(api_certificate.ActionModule)
    action._task = types.SimpleNamespace(args={"names": []})
    monkeypatch.setattr(ActionBase, "run", lambda *_: {})
    monkeypatch.setattr(
        action, "_execute_module", lambda **_: {"failed": True, "msg": "m"}, raising=False
    )
    assert action.run(task_vars={}) == {"failed": True, "msg": "m"}
