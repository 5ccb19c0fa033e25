# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the driver asks of an inventory before anything runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import yaml

from ansible_collections.samewire.vllm.plugins.module_utils import _forms
from samewire.environment import for_ansible

REASON = re.compile(r"(?:Failed to parse inventory with 'yaml' plugin|\[ERROR\]): (.+)")


class InventoryError(ValueError):
    """An inventory that cannot be deployed; the message is one sentence."""


def cluster_name(inventory: Path, collection: Path, given: str = "") -> str:
    """Return the name of a cluster: the one given, that of the inventory, or the collection's default.

    Raises:
        InventoryError: The inventory has no host, its hosts do not agree, or the name is none.
    """
    name = given or _inventory_name(inventory, collection)
    if not _forms.is_cluster(name):
        raise InventoryError(
            f"The cluster_name is {_forms.shown(name)}: expected {_forms.CLUSTER}; correct it in the "
            "inventory."
        )
    return name


def _inventory_name(inventory: Path, collection: Path) -> str:
    listed = subprocess.run(
        ["ansible-inventory", "--inventory", str(inventory), "--list"],
        cwd=collection,
        env=os.environ | for_ansible(collection),
        capture_output=True,
        text=True,
        check=False,
    )
    hosts = json.loads(listed.stdout)["_meta"]["hostvars"] if listed.returncode == 0 else {}
    if not hosts:
        reason = REASON.search(listed.stderr)
        got = reason[1].rstrip(".") if reason else "none"
        raise InventoryError(
            f"The inventory {inventory} names no host: expected those of a cluster, got: {got}; "
            "see the inventories that come with Samewire."
        )
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
