# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: what the hosts got from the hub to which of them downloads."""

from __future__ import annotations

DOCUMENTATION = r"""
name: hub_downloader
short_description: Decide which host downloads a model of the hub
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Takes the pinned host, else the head, else the first host that reaches the hub.
positional: model
options:
  _input:
    description: What M(samewire.vllm.hub_info) returned as C(hub), by name of the host.
    type: dict
    required: true
  model:
    description: The hub id.
    type: str
    required: true
  endpoint:
    description: URL of the hub.
    type: str
    required: true
  revision:
    description: Branch, tag or commit that is wanted.
    type: str
    default: main
  token:
    description: Whether a token was sent.
    type: bool
    default: false
  head:
    description: Name of the host that downloads where it reaches the hub.
    type: str
    required: true
  pinned:
    description: Name of the host that downloads in any case.
    type: str
    default: ""
  exclude:
    description: Patterns of files that are not wanted.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Decide who downloads
  ansible.builtin.set_fact:
    chosen: >-
      {{ answers | samewire.vllm.hub_downloader('org/model', endpoint='https://huggingface.co',
         head='spark0') }}
"""

RETURN = r"""
_value:
  description:
    - C(host), none where no host reaches the hub, and C(problems), a sentence each.
    - C(exclude), the patterns of all that is not downloaded; C(files), what is, with sizes; C(config) of the
      model, none where it is not known.
  type: dict
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _hub


def hub_downloader(
    answers: Mapping[str, Mapping[str, Any]],
    model: str,
    endpoint: str,
    head: str,
    revision: str = "main",
    token: bool = False,
    pinned: str = "",
    exclude: Sequence[str] = (),
) -> dict[str, Any]:
    """Return it; see `_hub.downloader` and `_hub.wanted`."""
    asked = _hub.Asked(model, endpoint, revision, token)
    host, problems = _hub.downloader(answers, asked, head, pinned)
    got = answers[host] if host else {"files": {}, "config": None}
    return {
        "host": host,
        "problems": problems,
        "exclude": _hub.excluded(got["files"], exclude),
        "files": _hub.wanted(got["files"], exclude),
        "config": got["config"],
    }


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"hub_downloader": hub_downloader}
