# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What is said of the certificate and the key that an inventory gives."""

from __future__ import annotations

import pytest

from ansible_collections.samewire.vllm.plugins.filter.certificate_verdict import (
    certificate_verdict,
)
from tests.unit.certificates import DAY, NOW, issued

CERTIFICATE, KEY = issued("node0")
LOCKED, LOCKED_KEY = issued("node0", passphrase=b"secret")
OLD, OLD_KEY = issued("node0", begins=NOW - 9 * DAY, ends=NOW - DAY)
ALMOST, ALMOST_KEY = issued("node0", ends=NOW + 13.5 * DAY)


def verdict(certificate: str, key: str, enabled: bool = True) -> dict[str, list[str]]:
    return certificate_verdict(certificate, key, enabled, "node0", "node0")


@pytest.mark.parametrize(
    ("certificate", "key", "enabled", "problem"),
    [
        (
            CERTIFICATE,
            "",
            True,
            "vllm_server_tls_certificate is given without vllm_server_tls_key, expected both or neither; "
            "give vllm_server_tls_key, or remove vllm_server_tls_certificate for a certificate that is "
            "made up",
        ),
        (
            " \n",
            KEY,
            True,
            "vllm_server_tls_key is given without vllm_server_tls_certificate, expected both or neither; "
            "give vllm_server_tls_certificate, or remove vllm_server_tls_key for a certificate that is "
            "made up",
        ),
        (
            CERTIFICATE,
            KEY,
            False,
            "vllm_server_tls_certificate and vllm_server_tls_key would not be used, since vllm_server_tls is "
            "false; set vllm_server_tls: true, or remove them from the inventory",
        ),
        (
            "",
            KEY,
            False,
            "vllm_server_tls_key would not be used, since vllm_server_tls is false; set vllm_server_tls: "
            "true, or remove it from the inventory",
        ),
        (
            "nothing",
            KEY,
            True,
            "vllm_server_tls_certificate holds no certificate that can be read, expected PEM, which begins "
            "with -----BEGIN CERTIFICATE-----; correct it in the inventory",
        ),
        (
            CERTIFICATE,
            "nothing",
            True,
            "vllm_server_tls_key holds no key that can be read, expected PEM, which begins with "
            "-----BEGIN PRIVATE KEY-----; correct it in the inventory",
        ),
        (
            CERTIFICATE,
            CERTIFICATE,
            True,
            "vllm_server_tls_key holds no key that can be read, expected PEM, which begins with "
            "-----BEGIN PRIVATE KEY-----; correct it in the inventory",
        ),
        (
            LOCKED,
            LOCKED_KEY,
            True,
            "vllm_server_tls_key is encrypted with a passphrase that nobody can give to vLLM, expected a key "
            "without one; decrypt it with openssl pkey, and keep it in a vault",
        ),
        (
            CERTIFICATE,
            OLD_KEY,
            True,
            "vllm_server_tls_key is not the key of vllm_server_tls_certificate, expected a pair; give the "
            "key for which it was issued, and put the certificate of the server before those that vouch "
            "for it",
        ),
        (
            OLD,
            OLD_KEY,
            True,
            f"vllm_server_tls_certificate expired on {NOW - DAY:%Y-%m-%d %H:%M} UTC, expected one that is "
            "valid now; renew it",
        ),
    ],
)
def test_problems(certificate: str, key: str, enabled: bool, problem: str) -> None:
    found = verdict(certificate, key, enabled)
    assert found == {"problems": [f"node0: {problem}"], "notes": []}


@pytest.mark.parametrize("enabled", [True, False])
def test_nothing_given(enabled: bool) -> None:
    assert verdict("", "", enabled) == {"problems": [], "notes": []}


def test_a_good_pair() -> None:
    assert verdict(CERTIFICATE, KEY) == {"problems": [], "notes": []}
    notes = verdict(ALMOST, ALMOST_KEY)["notes"]
    assert [note.partition(" UTC, ")[2] for note in notes] == ["in 13 days; renew it"]
