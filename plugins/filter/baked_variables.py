# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: the environment of an image and that of a container to what of the image is overridden."""

from __future__ import annotations

DOCUMENTATION = r"""
name: baked_variables
short_description: Say which variables of an image a container is given otherwise
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - An image may bake in addresses or interface names of the machine on which it was made. Lists those
    variables that P(samewire.vllm.node_environment#filter) overrides or has removed.
positional: environment
options:
  _input:
    description: Variables of the image as C(NAME=VALUE); C(Config.Env) of C(docker image inspect).
    type: list
    elements: str
    required: true
  environment:
    description: What the container is given, as P(samewire.vllm.node_environment#filter) returns it.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Say what the image would have set
  ansible.builtin.debug:
    msg: >-
      {{ pulled.image.Config.Env | samewire.vllm.baked_variables(
         plan | samewire.vllm.node_environment(inventory_hostname, head='spark0')) }}
"""

RETURN = r"""
_value:
  description:
    - The variables by name, with the value of the image and the value that is given in its place, none where
      the variable is removed. The values of secrets are not shown.
  type: list
  elements: dict
  sample:
    - variable: NCCL_SOCKET_IFNAME
      image: enp1s0f1np1
      given: =enp1s0f0np0
      message: the image sets NCCL_SOCKET_IFNAME='enp1s0f1np1'; the containers get '=enp1s0f0np0'
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _overrides


def baked_variables(
    image: Sequence[str] | None, environment: Mapping[str, str]
) -> list[dict[str, str | None]]:
    """Return the variables; see `_overrides.baked_variables`. An image without any has null."""
    return _overrides.baked_variables(image or (), environment)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"baked_variables": baked_variables}
