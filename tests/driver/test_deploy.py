# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a person and a program read of a deployment, from recorded runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from samewire.deploy import NEW_KEY_ARTIFACT, Deployment

Deploy = Callable[..., tuple[int, str]]
Plain = Callable[[str], str]

DONE = """\
TIME Check the hosts …
TIME Check the hosts … done in N s, nothing changed
TIME Start the containers …
TIME Start the containers … done in N s, 6 changed

  URL     http://10.1.230.180:8000
  Model   tiny
  Nodes   spark0  192.168.200.12  head, 1 GPU
          spark1  192.168.200.13  worker, 1 GPU
  Wire    192.168.200.0/24 (TCP sockets)
  Answer  'Hello' -> ' world'
  Record  HOME/.samewire/clusters/example/record.json

  curl -s http://10.1.230.180:8000/v1/completions -H 'Content-Type: application/json' \
-d '{"model": "tiny", "prompt": "Hello", "max_tokens": 16}'

example: done in N s, 6 changed.
"""
REFUSED = """\
TIME Check the hosts …
TIME Check the hosts … failed after N s
node1 has 0 GPUs and the plan needs 1: install its driver, or take node1 out of the inventory.
node1 has no /models/tiny: copy the model there.
Ansible's own output: HOME/.samewire/clusters/example/last-run.log (or run again with -v).
example: refused before anything was changed, after N s.
"""
FAILED = """\
TIME Start the containers …
TIME Start the containers … failed after N s
node0: Ray registered 10.0.0.1 instead of 192.168.200.12: stop all Ray containers and deploy again.
Ansible's own output: HOME/.samewire/clusters/example/last-run.log (or run again with -v).
example: failed on the way, after N s.
"""
UNREACHABLE = """\
TIME Check the hosts …
TIME Check the hosts … failed after N s
node2 is unreachable at 127.0.0.1: check ansible_host in the inventory.
Ansible's own output: HOME/.samewire/clusters/example/last-run.log (or run again with -v).
example: a host is unreachable, after N s.
"""
INTERRUPTED = """\
TIME Check the hosts …
TIME Check the hosts … done in N s, nothing changed
TIME Start the containers …
TIME Start the containers … done in N s, 6 changed
Interrupted after N s: what was started on the hosts goes on as it is; deploy again to go on \
from there.
"""
CHECKED = """\
TIME Check the hosts …
TIME Check the hosts … done in N s, nothing changed
TIME Start the containers …
TIME Start the containers … done in N s, 6 changed
example: 6 tasks would change something.
"""


@pytest.mark.parametrize(
    ("run", "status", "options", "code", "text"),
    [
        ("done", "successful", [], 0, DONE),
        ("done", "successful", ["--check"], 0, CHECKED),
        ("refused", "failed", [], 3, REFUSED),
        ("failed", "failed", [], 1, FAILED),
        ("unreachable_checked", "failed", [], 4, UNREACHABLE),
        ("done", "canceled", [], 130, INTERRUPTED),
    ],
    ids=["done", "check", "refused", "failed", "unreachable", "interrupted"],
)
def test_text(
    run: str,
    status: str,
    options: list[str],
    code: int,
    text: str,
    deploy: Deploy,
    plain: Plain,
) -> None:
    assert deploy(run, *options, status=status)[0] == code
    assert plain(deploy(run, *options, status=status)[1]) == text


KEYED = """\
  Record  HOME/.samewire/clusters/example/record.json
  API key HOME/.samewire/clusters/example/api_key{new}

  curl -s http://10.1.230.180:8000/v1/completions -H 'Content-Type: application/json' \
-H "Authorization: Bearer $(cat HOME/.samewire/clusters/example/api_key)" \
-d '{{"model": "tiny", "prompt": "Hello", "max_tokens": 16}}'
"""
SHOWN = "\n          c0ffee (new, and shown this once)"


@pytest.mark.parametrize("new", ["", SHOWN], ids=["known", "new"])
def test_the_key_of_the_api_is_shown_when_it_is_new(
    new: str, deploy: Deploy, plain: Plain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ".samewire" / "clusters" / "example"
    folder.mkdir(parents=True)
    (folder / "api_key").write_text("c0ffee", encoding="utf-8")
    artifacts = {NEW_KEY_ARTIFACT: str(folder / "api_key")} if new else {}
    done = Deployment.new_key.fget
    assert done is not None
    monkeypatch.setattr(
        Deployment,
        "new_key",
        property(lambda self: done(_with_artifacts(self, artifacts))),
    )
    assert KEYED.format(new=new) in plain(deploy("done")[1])


def test_the_certificate_of_the_api_is_named(deploy: Deploy, plain: Plain, tmp_path: Path) -> None:
    folder = tmp_path / ".samewire" / "clusters" / "example"
    folder.mkdir(parents=True)
    (folder / "api.crt").write_text("PEM", encoding="utf-8")
    text = plain(deploy("done")[1])
    assert "\n  Trust   HOME/.samewire/clusters/example/api.crt\n" in text
    assert "\n  curl -s --cacert HOME/.samewire/clusters/example/api.crt http" in text


def _with_artifacts(deployment: Deployment, artifacts: dict[str, str]) -> Deployment:
    ended = deployment.ended
    return replace(
        deployment, ended=replace(ended, progress=replace(ended.progress, artifacts=artifacts))
    )


def test_json(deploy: Deploy, plain: Plain) -> None:
    code, output = deploy("refused", "--json", status="failed")
    assert code == 3
    result: dict[str, Any] = json.loads(output[output.index("{") :])
    for phase in result["phases"]:
        assert phase.pop("seconds") >= 0
    assert result.pop("seconds") >= 0
    assert plain(result.pop("log")) == "HOME/.samewire/clusters/example/last-run.log"
    assert result == {
        "schema": "samewire.deploy/1",
        "cluster": "example",
        "exit_code": 3,
        "outcome": "refused before anything was changed",
        "changed": 0,
        "phases": [
            {
                "title": "Check the hosts",
                "hosts": ["node0", "node1"],
                "changed": 0,
                "failed": True,
            }
        ],
        "findings": [
            "node1 has 0 GPUs and the plan needs 1: install its driver, or take node1 out of "
            "the inventory.",
            "node1 has no /models/tiny: copy the model there.",
        ],
        "diagnosis": None,
        "record": None,
    }


def test_json_holds_the_record(deploy: Deploy) -> None:
    _, output = deploy("done", "--json")
    assert json.loads(output[output.index("{") :])["record"]["schema"] == "samewire.record/1"


def test_raw_output_and_the_kept_log(deploy: Deploy, tmp_path: Path) -> None:
    _, output = deploy("done", "-v")
    log = (tmp_path / ".samewire/clusters/example/last-run.log").read_text(encoding="utf-8")
    for text in (output, log):
        assert "TASK [Hand over a secret]" in text
        assert "\x1b[" not in text
        assert "not-for-eyes" not in text


def test_diff_is_shown_when_asked_for(deploy: Deploy) -> None:
    assert "+new" in deploy("diff", "--diff")[1]
    assert "+new" not in deploy("diff")[1]
