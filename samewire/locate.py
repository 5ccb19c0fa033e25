# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Where things are: the collection, a cluster's inventory, what is kept of a cluster."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def collection() -> Path:
    """Return the folder of samewire.vllm: the link in a clone, site-packages where it is installed.

    Raises:
        FileNotFoundError: The package is installed without its collection.
    """
    spec = find_spec("ansible_collections.samewire.vllm")
    for folder in spec.submodule_search_locations or () if spec else ():
        if (Path(folder) / "playbooks").is_dir():
            return Path(folder)
    raise FileNotFoundError(
        "The collection samewire.vllm is not beside the driver: expected its playbooks under "
        "ansible_collections/samewire/vllm, found none; install the package samewire again."
    )


def inventory(named: str) -> Path:
    """Return the absolute path of an inventory: the name of one that ships, else a path.

    Raises:
        FileNotFoundError: There is neither; the message lists the names.
    """
    shipped = collection() / "inventories"
    names = sorted(folder.name for folder in shipped.glob("*/"))
    # The name first: a clone also has a folder lab that is no inventory.
    path = shipped / named if named in names else Path(named).expanduser()
    if not path.exists():
        raise FileNotFoundError(
            f"No inventory {named}: expected a file, a folder or one of {', '.join(names)}."
        )
    return path.absolute()


def cluster_folder(cluster: str) -> Path:
    """Return the folder that keeps the record and the last output of a cluster."""
    return Path.home() / ".samewire" / "clusters" / cluster
