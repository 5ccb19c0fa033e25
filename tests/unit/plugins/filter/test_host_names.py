# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Hosts in a few words, and what their place in a task's name is for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.samewire.vllm.plugins.filter.host_names import host_names

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize(
    ("hosts", "text"),
    [
        ([], ""),
        (["spark"], "spark"),
        (["node0", "node1"], "node0 and node1"),
        (["a", "b", "c"], "a, b and c"),
        ([f"node{index}" for index in range(32)], "node0, node1 and 30 more"),
    ],
)
def test_few_hosts_are_named_and_many_counted(hosts: list[str], text: str) -> None:
    assert host_names(hosts) == text


def _tasks(playbook: Path) -> Iterator[str]:
    """Yield the names of the first play's tasks, those of roles and of other playbooks included."""
    first: dict[str, Any] = yaml.safe_load(playbook.read_text(encoding="utf-8"))[0]
    if "ansible.builtin.import_playbook" in first:
        name = str(first["ansible.builtin.import_playbook"]).rpartition(".")[2]
        yield from _tasks(ROOT / "playbooks" / f"{name}.yml")
    for role in first.get("roles", []):
        yield from _of_role(role["role"], "main")
    for task in first.get("tasks", []):
        if role := task.get("ansible.builtin.import_role"):
            yield from _of_role(role["name"], role.get("tasks_from", "main"))
        # Whoever reads the files of variables has no use for a filter.
        elif (
            task.get("ansible.builtin.import_tasks") != "tasks/know.yml"
            and "ansible.builtin.include_vars" not in task
        ):
            yield task["name"]


def _of_role(name: str, file: str) -> Iterator[str]:
    path = ROOT / "roles" / name.rpartition(".")[2] / "tasks" / f"{file}.yml"
    for task in yaml.safe_load(path.read_text(encoding="utf-8")):
        yield task["name"]


@pytest.mark.parametrize(
    "playbook", sorted((ROOT / "playbooks").glob("*.yml")), ids=lambda path: str(path.stem)
)
def test_every_playbook_loads_the_filters_once(playbook: Path) -> None:
    """Else every task of every host loads them: 29 s for what takes 19 on two hosts and two cores."""
    assert "samewire.vllm.host_names" in next(_tasks(playbook))
