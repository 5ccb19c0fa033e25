# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A module that is sent as its sources: it says what it says in Ansible's archive, on a bare Python."""

from __future__ import annotations

import ast
import base64
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _unpacked
from ansible_collections.samewire.vllm.plugins.plugin_utils import _unpacked_action
from tests.unit.modules import ROOT, run_module
from tests.unit.unpacked import ACTIONS

LOADER = (ROOT / "plugins/modules/unpacked.py").read_text(encoding="utf-8")
PLACE = "<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>"


def python(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program as Ansible does, on standard input, where no package is installed."""
    return subprocess.run(
        [sys.executable, "-I", "-S", "-"],
        input=program,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "DOCKER_HOST": "unix:///nowhere", **environment},
    )


def written(name: str, check: bool = False, **arguments: Any) -> str:
    """The loader with its arguments, as the action and Ansible write them."""
    action = ACTIONS[name]
    given = {
        "module": action.module.__name__,
        "sources": action.sources,
        "arguments": base64.b64encode(json.dumps(arguments).encode()).decode(),
        "_ansible_check_mode": check,
    }
    return LOADER.replace(PLACE, json.dumps(given))


def run(name: str, check: bool = False, **arguments: Any) -> dict[str, Any]:
    done = python(written(name, check, **arguments))
    assert done.stdout, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("name", ACTIONS)
def test_all_that_a_module_imports_is_sent(name: str) -> None:
    begun = (
        written(name).replace(").main()", ")").replace('if __name__ == "__main__":\n    main()', "")
    )
    done = python(f"{begun}\nmain()\nprint('imported')")
    assert (done.stdout, done.stderr) == ("imported\n", "")


@pytest.mark.parametrize("name", ACTIONS)
def test_what_a_module_wants_of_ansible_is_there(name: str) -> None:
    wanted = set()
    for source in _unpacked_action.sources(ACTIONS[name].module).values():
        for each in ast.walk(ast.parse(source)):
            if isinstance(each, ast.ImportFrom) and (each.module or "").startswith("ansible."):
                assert (each.module, each.names[0].name) == (
                    "ansible.module_utils.basic",
                    "AnsibleModule",
                )
            if isinstance(each, ast.Attribute) and getattr(each.value, "id", "") == "module":
                wanted.add(each.attr)
    assert wanted <= {*dir(_unpacked.AnsibleModule), "params", "check_mode", "no_log_values"}


def test_the_facts_of_this_host() -> None:
    facts = run("interconnect_info", sys_root="/sys")["facts"]
    assert facts["interfaces"] == run_module("interconnect_info")["facts"]["interfaces"]


def test_who_listens_goes_on(tmp_path: Path) -> None:
    asked = {
        "address": "127.0.0.1",
        "interface": "lo",
        "ports": [],
        "port_ranges": [],
        "seconds": 20,
    }
    listener = run("wire_proof", step="listen", **asked)["listener"]
    with socket.create_connection(("127.0.0.1", listener["ports"][0]["port"])) as client:
        client.sendall(b"hello 0\n")
        assert client.recv(64).decode().split()[0] == listener["nonce"]
    assert run("wire_proof", step="end", listeners={"a": listener}) == {"changed": False}


def test_files_are_written_and_only_told_of_in_check_mode(tmp_path: Path) -> None:
    asked = {"path": str(tmp_path / "pair"), "directories": {}, "files": {"a.env": "B=1\n"}}
    would = run("node_files", check=True, **asked)
    assert not (tmp_path / "pair").exists()
    done = run("node_files", **asked)
    assert (would, done["changed"]) == (done, True)
    assert (tmp_path / "pair/a.env").read_text() == "B=1\n"
    assert run("node_files", **asked) == {"changed": False, "written": [], "diff": []}


def test_paths_are_those_of_the_host(tmp_path: Path) -> None:
    asked = {"path": "~/$PAIR", "directories": {}, "files": {"a": "b"}}
    done = python(written("node_files", **asked), HOME=str(tmp_path), PAIR="pair")
    assert json.loads(done.stdout)["changed"] is True
    assert (tmp_path / "pair/a").read_text() == "b"


def test_paths_are_expanded_at_any_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = {"path": {"type": "path"}, "name": {"type": "str"}}
    spec: dict[str, Any] = {
        "paths": {"type": "list", "elements": "path"},
        "one": {"type": "dict", "options": inner},
        "many": {"type": "list", "elements": "dict", "options": inner},
        "none": {"type": "path"},
    }
    given = {"paths": ["~/a", "/b"], "one": {"path": "~", "name": "~"}, "many": [{"path": "~/c"}]}
    arguments = {**given, "none": None}
    monkeypatch.setattr(_unpacked, "GIVEN", {"arguments": arguments, "check_mode": False})
    monkeypatch.setenv("HOME", "/home/a")
    assert _unpacked.AnsibleModule(argument_spec=spec).params == {
        "paths": ["/home/a/a", "/b"],
        "one": {"path": "/home/a", "name": "~"},
        "many": [{"path": "/home/a/c"}],
        "none": None,
    }


def test_a_failure_is_told_in_the_same_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    asked = {"path": str(tmp_path / "file"), "directories": {}, "files": {"a": "b"}}
    packed = run_module("node_files", **asked)
    assert run("node_files", **asked) == {"failed": True, "msg": packed["msg"]}


def test_an_error_of_the_module_is_told_with_its_place(tmp_path: Path) -> None:
    failed = run("node_files", path=str(tmp_path), directories={"a": "zz"}, files={})
    assert failed["msg"] == "ValueError: invalid literal for int() with base 8: 'zz'"
    assert "plugins.modules.node_files" in failed["exception"]


def test_programs_of_the_host(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_unpacked, "GIVEN", {"arguments": {}, "check_mode": False})
    module = _unpacked.AnsibleModule(argument_spec={})
    assert module.get_bin_path("no-such-program") is None
    assert module.run_command([module.get_bin_path("cat") or ""], data="é") == (0, "é", "")
    assert module.run_command(["false"])[0] == 1
    with pytest.raises(SystemExit):
        module.run_command(["sh", "-c", "echo why >&2; exit 3"], check_rc=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["failed"], told["rc"], told["msg"].endswith(": why")) == (True, 3, True)


def test_an_old_python_is_told_so() -> None:
    done = python(written("node_files").replace("(3, 9)", "(9, 9)"))
    version = sys.version.split()[0]
    assert json.loads(done.stdout)["msg"] == (
        f"Python {version} at {sys.executable}, expected 3.9 or newer"
    )
    # Old ones read the file, so it must not have what they cannot read.
    ast.parse(LOADER, feature_version=(3, 6))
