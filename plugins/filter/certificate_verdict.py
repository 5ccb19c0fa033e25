# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Filter: the certificate that an inventory gives to what is wrong with it."""

from __future__ import annotations

DOCUMENTATION = r"""
name: certificate_verdict
short_description: Judge the certificate and the key that an inventory gives for the API
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Says of a certificate and its key why the API could not use them, and what is worth knowing of them.
options:
  _input:
    description: Certificate in PEM, those that vouch for it after it; empty where none is given.
    type: str
    required: true
  key:
    description: Its key in PEM; empty where none is given.
    type: str
    required: true
  enabled:
    description: Whether the API speaks TLS.
    type: bool
    required: true
  host:
    description: Name of the head, for the sentences.
    type: str
    required: true
  address:
    description: Address or name of the API in the record.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Refuse a certificate that vLLM could not use
  ansible.builtin.assert:
    that: verdict.problems | length == 0
  vars:
    verdict: >-
      {{ certificate | samewire.vllm.certificate_verdict(key=key, enabled=true, host=inventory_hostname,
         address=ansible_host) }}
"""

RETURN = r"""
_value:
  description: Sentences; C(problems) forbid to go on, C(notes) do not.
  type: dict
  sample:
    problems: []
    notes: ["spark0: vllm_server_tls_certificate expires on 2026-12-05 12:00 UTC, in 5 days; renew it"]
"""

import datetime
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _tls
from ansible_collections.samewire.vllm.plugins.plugin_utils import _certificate


def certificate_verdict(
    certificate: str, key: str, enabled: bool, host: str, address: str
) -> dict[str, list[str]]:
    """Return the verdict; see `_tls`."""
    certificate, key = certificate.strip(), key.strip()
    given = [name for name, text in ((_tls.CERTIFICATE, certificate), (_tls.KEY, key)) if text]
    problems = _tls.incomplete(host, given, enabled=enabled)
    if problems or not given:
        return {"problems": problems, "notes": []}
    now = datetime.datetime.now(datetime.timezone.utc)
    try:
        read = _certificate.read(certificate)
        _certificate.check_key(certificate, key)
    except _certificate.CertificateRefused as problem:
        return {"problems": [f"{host}: {problem}"], "notes": []}
    problems = _tls.out_of_date(host, read, now)
    return {
        "problems": problems,
        "notes": [] if problems else _tls.notes(host, read, address, now),
    }


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Any]:
        """Return the filter by name."""
        return {"certificate_verdict": certificate_verdict}
