# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The YAML of the documentation: inventories are judged and facts planned by the real code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.vars.manager import VariableManager

from ansible_collections.samewire.vllm.plugins.filter.desired_state import desired_state
from ansible_collections.samewire.vllm.plugins.module_utils import (
    _diagnosis,
    _interconnect,
    _signatures,
    _topology,
)
from ansible_collections.samewire.vllm.plugins.module_utils._signatures_marks import MARKS
from tests.unit.docs.pages import PAGES, ROOT, fenced

NAMED = re.compile(r"^# ([\w/]+\.yml)\b.*\n", re.MULTILINE)
Files = dict[str, str]


def files(block: str) -> Files:
    """Return the files of an inventory that a block shows, by name; none where it shows none."""
    parts = NAMED.split(block)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def inventories() -> list[tuple[str, Files]]:
    """Return every inventory: a block with hosts.yml, and each later block of the page on top of it."""
    found = []
    for page in PAGES:
        base: Files = {}
        for number, shown in enumerate(filter(None, map(files, fenced(page, "yaml")))):
            if "hosts.yml" in shown:
                base = shown
            # A page on a cluster of yours that shows no hosts speaks of any inventory.
            found.append((f"{page.name}-{number}", (base or shipped()) | shown))
    return found


def shipped() -> Files:
    folder = ROOT / "inventories" / "dgx-spark-pair"
    return {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8")
        for file in folder.rglob("*.yml")
    }


def problems(folder: Path) -> list[str]:
    """Return what the desired state of an inventory is refused for."""
    loader = DataLoader()
    inventory = InventoryManager(loader=loader, sources=[str(folder)])
    manager = VariableManager(loader=loader, inventory=inventory)
    hostvars = {
        host.name: manager.get_vars(host=host, include_hostvars=False)
        for host in inventory.get_hosts()
    }
    groups = inventory.get_groups_dict()
    required = ["container_image_name", "vllm_server_model"]
    judged = desired_state(hostvars, groups["ray_head"], groups["ray_workers"], required)
    return list(judged["problems"])


def write(folder: Path, contents: Files) -> None:
    for name, text in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("name", "contents"), inventories(), ids=lambda each: str(each)[:24])
def test_an_inventory_is_accepted(name: str, contents: Files, tmp_path: Path) -> None:
    write(tmp_path, contents)
    assert problems(tmp_path) == []


def test_an_inventory_with_a_mistake_is_not(tmp_path: Path) -> None:
    write(tmp_path, shipped() | {"host_vars/spark1.yml": "ray_node_gpu: 1\n"})
    assert problems(tmp_path) == [
        "spark1: variable ray_node_gpu is not known; did you mean ray_node_gpus? "
        "Correct the name in the inventory"
    ]


def documents() -> list[dict[str, Any]]:
    blocks = [block for page in PAGES for block in fenced(page, "yaml")]
    return [yaml.safe_load(block) for block in blocks]


def test_facts_are_planned_as_the_page_says() -> None:
    cases = [each for each in documents() if isinstance(each.get("hosts"), list)]
    assert cases
    for case in cases:
        plan = _interconnect.to_json(_interconnect.plan(_topology.parse_cluster(case)))
        for host, wanted in case["expected"].items():
            got = plan["hosts"][host]
            assert (got["interface"], got["address"]) == (wanted["interface"], wanted["address"])
            assert [hca.partition(":")[0] for hca in got["hcas"]] == wanted["hcas"]


def test_the_rule_that_is_shown_is_one_and_belongs_to_the_case() -> None:
    (case,) = [each for each in documents() if "log" in each]
    (shown,) = fenced(ROOT / "docs" / "adding-a-rule.md", "python")
    rule = eval(shown, dict(vars(_signatures)))  # the page's own text
    assert rule.id == case["class"]
    assert set(rule.explains) <= {other.id for other in _diagnosis.RULES}
    (signature,) = rule.signatures
    log = case["log"].lower()
    assert signature.needle in log
    assert all(any(each.needle in log for each in MARKS[mark]) for mark in signature.needs)
