# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the driver asks of an inventory before anything runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.samewire.vllm.plugins.module_utils import _forms
from samewire.environment import for_ansible

REASON = re.compile(r"(?:Failed to parse inventory with 'yaml' plugin|\[ERROR\]): (.+)")


class InventoryError(ValueError):
    """An inventory that cannot be deployed; the message is one sentence."""


@dataclass(frozen=True)
class Inventory:
    """An inventory as Ansible reads it: the cluster, and the variables of each host, the head first."""

    cluster: str
    hosts: Mapping[str, Mapping[str, Any]]


def cluster_name(inventory: Path, collection: Path, given: str = "") -> str:
    """Return the name of a cluster: the one given, that of the inventory, or the collection's default.

    Raises:
        InventoryError: The inventory has no host, its hosts do not agree, or the name is none.
    """
    return _judged(given or _agreed_name(inventory, collection, _listed(inventory, collection)))


def _judged(name: str) -> str:
    if not _forms.is_cluster(name):
        raise InventoryError(
            f"The cluster_name is {_forms.shown(name)}: expected {_forms.CLUSTER}; correct it in the "
            "inventory."
        )
    return name


def read(inventory: Path, collection: Path, given: Mapping[str, Any]) -> Inventory:
    """Return the hosts of a cluster; given: variables that win over those of the inventory.

    Raises:
        InventoryError: As `cluster_name` does.
    """
    listed = _listed(inventory, collection)
    name = str(given.get("cluster_name", "")) or _agreed_name(inventory, collection, listed)
    hostvars = listed["_meta"]["hostvars"]
    members = dict.fromkeys([*_members(listed, "ray_head"), *_members(listed, "ray_workers")])
    if not members:
        raise InventoryError(
            f"The inventory {inventory} names no host of a cluster: expected some in the groups ray_head and "
            f"ray_workers, got: {', '.join(hostvars)}; move them there."
        )
    hosts = {host: {**hostvars.get(host, {}), **given} for host in members}
    return Inventory(_judged(name), hosts)


def _members(listed: Mapping[str, Any], group: str) -> list[str]:
    """Return the hosts of a group and of those within it; a group is never within itself."""
    entry = listed.get(group, {})
    inner = [host for child in entry.get("children", []) for host in _members(listed, child)]
    return [*entry.get("hosts", []), *inner]


def _listed(inventory: Path, collection: Path) -> dict[str, Any]:
    listed = subprocess.run(
        ["ansible-inventory", "--inventory", str(inventory), "--list"],
        cwd=collection,
        env=os.environ | for_ansible(collection),
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, Any] = json.loads(listed.stdout) if listed.returncode == 0 else {}
    if not found.get("_meta", {}).get("hostvars"):
        reason = REASON.search(listed.stderr)
        got = reason[1].rstrip(".") if reason else "none"
        raise InventoryError(
            f"The inventory {inventory} names no host: expected those of a cluster, got: {got}; "
            "see the inventories that come with Samewire."
        )
    return found


def _agreed_name(inventory: Path, collection: Path, listed: Mapping[str, Any]) -> str:
    hosts = listed["_meta"]["hostvars"]
    default = _default(collection)
    names = sorted({str(variables.get("cluster_name", default)) for variables in hosts.values()})
    if len(names) > 1:
        raise InventoryError(
            f"The inventory {inventory} has hosts of several clusters: {', '.join(names)}; "
            "expected one cluster_name for all, set in group_vars/all."
        )
    return names[0]


def _default(collection: Path) -> str:
    defaults = collection / "roles" / "cluster" / "defaults" / "main.yml"
    return str(yaml.safe_load(defaults.read_text(encoding="utf-8"))["cluster_name"])
