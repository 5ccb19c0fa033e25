# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""How often a long task says how far it is."""

from __future__ import annotations

import os

from ansible_collections.samewire.vllm.plugins.module_utils import _following

VARIABLE = "SAMEWIRE_PROGRESS_SECONDS"


def seconds() -> float:
    """Return the seconds between two lines: what whoever starts Ansible asks for, who may redraw them."""
    asked = os.environ.get(VARIABLE, "")
    return float(asked) if asked.isdecimal() else _following.SHOWN_EVERY
