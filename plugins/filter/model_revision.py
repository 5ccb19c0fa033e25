# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: arguments of vllm serve to the revision of the model that they name."""

from __future__ import annotations

DOCUMENTATION = r"""
name: model_revision
short_description: Give the revision of a model that the arguments of C(vllm serve) name
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Reads C(--revision), in either form in which vLLM takes it.
options:
  _input:
    description: The arguments.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Show it
  ansible.builtin.debug:
    msg: "{{ ['--revision', 'v1'] | samewire.vllm.model_revision }}"
"""

RETURN = r"""
_value:
  description: Branch, tag or commit; C(main) where the arguments name none.
  type: str
"""

from collections.abc import Sequence
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _hub


def model_revision(arguments: Sequence[str]) -> str:
    """Return it; see `_hub.revision`."""
    return _hub.revision(arguments)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"model_revision": model_revision}
