# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The module on this host and on a tree that stands in for sysfs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils import basic
from ansible.module_utils.testing import patch_module_args

from ansible_collections.samewire.vllm.plugins.modules import interconnect_info
from tests.unit import sysfs


def run(capsys: pytest.CaptureFixture[str], **arguments: Any) -> dict[str, Any]:
    with patch_module_args(arguments), pytest.raises(SystemExit):
        interconnect_info.main()
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_rdma_comes_from_the_named_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, sys_root=str(sysfs.build(tmp_path)))

    assert result["changed"] is False
    assert [port["device"] for port in result["facts"]["rdma"]] == ["rocep1s0f0"]
    assert "name" not in result["facts"]


def test_check_mode_reads_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    root = str(sysfs.build(tmp_path))

    assert run(capsys, sys_root=root, _ansible_check_mode=True) == run(capsys, sys_root=root)


def test_host_without_ip_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(basic.AnsibleModule, "get_bin_path", lambda *_, **__: None)

    result = run(capsys, sys_root=str(tmp_path))

    assert result["facts"]["absent"]["interfaces"] == "ip is not installed"
