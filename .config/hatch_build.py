# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Put the collection into the wheel; in an editable installation a copy would hide the clone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TARGET = "ansible_collections/samewire/vllm"
# The last two are for the driver, which finds them beside the playbooks as in a clone.
PARTS = (
    "galaxy.yml",
    "deploy.yml",
    "meta",
    "plugins",
    "roles",
    "playbooks",
    "ansible.cfg",
    "inventories",
)


class CollectionHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the collection to a standard wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Map each part of the collection to its place under site-packages."""
        if version == "standard":
            parts = {str(Path(self.root) / part): f"{TARGET}/{part}" for part in PARTS}
            build_data["force_include"].update(parts)
