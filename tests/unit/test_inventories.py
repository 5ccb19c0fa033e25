# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Each inventory can be deployed, and the plan beside it is the one that its facts lead to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from ansible_collections.samewire.vllm.plugins.filter.desired_state import desired_state
from samewire import cli

ROOT = Path(__file__).parents[2]
# The lab's facts are those of the machine that it runs on.
FOLDERS = sorted(path.parent for path in ROOT.glob("inventories/*/README.md"))


def block(folder: Path, language: str) -> str:
    """Return the block of a language in the README of an inventory."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert found
    return found[1]


def groups(folder: Path) -> dict[str, list[str]]:
    listed = yaml.safe_load((folder / "hosts.yml").read_text(encoding="utf-8"))
    return {name: list(group["hosts"]) for name, group in listed.items()}


def variables(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in (folder / "group_vars/all").glob("*.yml"):
        found |= yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def test_all_but_the_lab_show_their_plan() -> None:
    shipped = {path.name for path in ROOT.glob("inventories/*/")}
    assert {folder.name for folder in FOLDERS} == shipped - {"lab"}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_inventory_that_can_be_meant(folder: Path) -> None:
    own, of = variables(folder), groups(folder)
    required = ["container_image_name", "vllm_server_model"]
    hosts = {host: own for names in of.values() for host in names}
    state = desired_state(hosts, of["ray_head"], of["ray_workers"], required)
    assert state["problems"] == []
    facts = yaml.safe_load(block(folder, "yaml"))
    assert facts["cluster"] == own["cluster_name"] == folder.name
    assert [facts["head"]] == of["ray_head"]
    assert [host["name"] for host in facts["hosts"]] == of["ray_head"] + of["ray_workers"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_plan_beside_the_facts(folder: Path, tmp_path: Path) -> None:
    facts = tmp_path / "facts.yml"
    facts.write_text(block(folder, "yaml"), encoding="utf-8")
    done = CliRunner().invoke(cli.app, ["plan", "--facts", str(facts)])
    assert done.exit_code == 0, done.output
    assert done.output.strip() == block(folder, "text").strip()
