#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: keep the certificate of the API and its key on the head."""

from __future__ import annotations

DOCUMENTATION = r"""
module: api_certificate
short_description: Keep the certificate of the API and its key in files that only their owner reads
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - With O(certificate), makes C(api.crt) and C(api.key) hold what is given.
  - Without, keeps the pair that is there while it is for all O(names), signed by itself and valid for 30 more
    days, and makes another one where it is not, valid for 397 days.
  - An action of the same name on the controller makes it, so that hosts need no library for that; the module
    by itself says what is there.
attributes:
  check_mode:
    description: Says what would change; a certificate that would be made is returned but not kept.
    support: full
options:
  directory:
    description: Directory of the files. It must exist, except in check mode.
    type: path
    required: true
  cluster:
    description: Name of the cluster, under which a certificate is made.
    type: str
    required: true
  names:
    description: >-
      DNS names and addresses that a certificate is made for, beside localhost; others are passed over.
    type: list
    elements: str
    required: true
  certificate:
    description: Certificate in PEM, those that vouch for it after it; empty makes one up.
    type: str
    default: ""
  key:
    description: Its key in PEM, not encrypted.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Make sure that there is a certificate
  samewire.vllm.api_certificate:
    directory: ~/.samewire/spark-pair/secrets
    cluster: spark-pair
    names: ["{{ inventory_hostname }}", "{{ ansible_host }}"]
  register: certificate
  no_log: true
"""

RETURN = r"""
certificate:
  description: The certificate in PEM, empty where there is none with its key.
  returned: always
  type: str
written:
  description: When the files were written, in nanoseconds; changes exactly when one of them does.
  returned: always
  type: str
"""

import os
import ssl

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import _secret_file


def _is_pair(certificate: str, key: str) -> bool:
    """Whether two files hold a certificate and its key."""
    try:
        # A key with a passphrase must not ask for it.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, lambda: "")
    except (OSError, ValueError):
        return False
    return True


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "directory": {"type": "path", "required": True},
            "cluster": {"type": "str", "required": True},
            "names": {"type": "list", "elements": "str", "required": True},
            "certificate": {"type": "str", "default": ""},
            "key": {"type": "str", "default": "", "no_log": True},
        },
        supports_check_mode=True,
    )
    directory = os.path.abspath(module.params["directory"])
    paths = [os.path.join(directory, name) for name in ("api.crt", "api.key")]
    certificate, key = module.params["certificate"].strip(), module.params["key"].strip()
    changed = False
    if certificate:
        wrote_key = _secret_file.keep(module, paths[1], key)
        changed = _secret_file.keep(module, paths[0], certificate) or wrote_key
    elif _is_pair(*paths):
        certificate = _secret_file.read(paths[0]) or ""
    kept = certificate and not (changed and module.check_mode)
    written = " ".join(map(_secret_file.written, paths)) if kept else ""
    module.exit_json(changed=changed, certificate=certificate, written=written)


if __name__ == "__main__":
    main()
