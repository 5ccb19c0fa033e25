# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: what Docker says of an image on each host to the digests that identify its content."""

from __future__ import annotations

DOCUMENTATION = r"""
name: image_digests
short_description: Give the digest that identifies the content of an image on each host
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Gives the digest under which a registry holds the image, as any of the hosts with this same image knows
    it, or the image's own id where it came from none.
options:
  _input:
    description: The image of each host, as C(docker image inspect) prints it, by name of the host.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the digests
  ansible.builtin.debug:
    msg: "{{ images | samewire.vllm.image_digests }}"
"""

RETURN = r"""
_value:
  description: The digests, as C(sha256:…), by name of the host; empty where the image is not there.
  type: dict
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _image


def image_digests(images: Mapping[str, Mapping[str, Any] | None]) -> dict[str, str]:
    """Return them; see `_image.digests`."""
    return _image.digests(images)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"image_digests": image_digests}
