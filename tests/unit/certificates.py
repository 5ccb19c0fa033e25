# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Certificates and keys as users have them."""

from __future__ import annotations

import datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NOW = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
DAY = datetime.timedelta(days=1)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def issued(
    *names: str,
    begins: datetime.datetime = NOW - DAY,
    ends: datetime.datetime = NOW + 90 * DAY,
    passphrase: bytes = b"",
) -> tuple[str, str]:
    """Return a certificate for DNS names and its key; who has issued it is not to be had."""
    key, authority = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    builder = (
        x509.CertificateBuilder()
        .subject_name(_named("server"))
        .issuer_name(_named("authority"))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
    )
    if names:
        alternatives = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
        builder = builder.add_extension(alternatives, critical=False)
    hidden = serialization.BestAvailableEncryption(passphrase) if passphrase else None
    return (
        builder.sign(authority, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode(),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            hidden or serialization.NoEncryption(),
        ).decode(),
    )
