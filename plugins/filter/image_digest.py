# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: what Docker says of an image to the digest that identifies its content."""

from __future__ import annotations

DOCUMENTATION = r"""
name: image_digest
short_description: Give the digest that identifies the content of an image
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Gives the digest under which a registry holds the image, or the image's own id where it came from none.
options:
  _input:
    description: The image, as C(docker image inspect) prints it.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the digest
  ansible.builtin.debug:
    msg: "{{ pulled.image | samewire.vllm.image_digest }}"
"""

RETURN = r"""
_value:
  description: The digest, as C(sha256:…); empty where the image is not there.
  type: str
"""

from collections.abc import Mapping
from typing import Any


def image_digest(image: Mapping[str, Any] | None) -> str:
    """Return the digest of an inspected image."""
    if not image:
        return ""
    digests = sorted(digest.rpartition("@")[2] for digest in image.get("RepoDigests") or [])
    return str(digests[0] if digests else image.get("Id", ""))


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"image_digest": image_digest}
