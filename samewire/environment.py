# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The environment in which the driver starts Ansible's programs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Ansible's own default, which setting the path would take away.
OTHER_COLLECTIONS = "~/.ansible/collections:/usr/share/ansible/collections"


def for_ansible(project: Path) -> dict[str, str]:
    """Return the variables that differ from this process; project may lie in a collections tree."""
    others = os.environ.get("ANSIBLE_COLLECTIONS_PATH", OTHER_COLLECTIONS)
    # The collection beside the driver is the one to run, whatever else is installed.
    own = [str(folder.parent) for folder in project.parents if folder.name == "ansible_collections"]
    # Ansible's programs stand beside the interpreter, also where no virtual environment is active.
    programs = Path(sys.executable).parent
    return {
        "ANSIBLE_COLLECTIONS_PATH": os.pathsep.join([*own, others]),
        "PATH": os.pathsep.join([str(programs), os.environ.get("PATH", os.defpath)]),
    }
