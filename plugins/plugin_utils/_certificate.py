# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Read and make certificates, on the controller: what ansible-core needs brings the library cryptography."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
from collections.abc import Sequence

# Who only reads the documentation may lack it.
with contextlib.suppress(ImportError):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ansible_collections.samewire.vllm.plugins.module_utils import _tls

# The clocks of clients are not all right.
_EARLIER = datetime.timedelta(hours=1)


class CertificateRefused(ValueError):
    """A certificate or a key that vLLM could not use; the message is a sentence without the host."""


def _first(pem: str) -> x509.Certificate:
    """Return the certificate of the server itself; those that vouch for it may follow."""
    try:
        return x509.load_pem_x509_certificates(pem.encode())[0]
    except ValueError:
        raise CertificateRefused(
            f"{_tls.CERTIFICATE} holds no certificate that can be read, expected PEM, which begins with "
            "-----BEGIN CERTIFICATE-----; correct it in the inventory"
        ) from None


def _names(certificate: x509.Certificate) -> frozenset[str]:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return frozenset()
    dns = extension.value.get_values_for_type(x509.DNSName)
    addresses = extension.value.get_values_for_type(x509.IPAddress)
    return frozenset({*(each.lower() for each in dns), *map(str, addresses)})


def read(pem: str) -> _tls.Certificate:
    """Return a certificate; raise CertificateRefused where the text holds none."""
    certificate = _first(pem)
    return _tls.Certificate(
        names=_names(certificate),
        begins=certificate.not_valid_before_utc,
        ends=certificate.not_valid_after_utc,
        self_signed=certificate.issuer == certificate.subject,
    )


def check_key(certificate: str, key: str) -> None:
    """Raise CertificateRefused unless a key, in PEM, is that of a certificate."""
    try:
        private = serialization.load_pem_private_key(key.encode(), password=None)
    except TypeError:
        raise CertificateRefused(
            f"{_tls.KEY} is encrypted with a passphrase that nobody can give to vLLM, expected a key without "
            "one; decrypt it with openssl pkey, and keep it in a vault"
        ) from None
    except ValueError:
        raise CertificateRefused(
            f"{_tls.KEY} holds no key that can be read, expected PEM, which begins with "
            "-----BEGIN PRIVATE KEY-----; correct it in the inventory"
        ) from None
    if private.public_key() != _first(certificate).public_key():
        raise CertificateRefused(
            f"{_tls.KEY} is not the key of {_tls.CERTIFICATE}, expected a pair; give the key for which it "
            "was issued, and put the certificate of the server before those that vouch for it"
        )


def make(cluster: str, names: Sequence[str], now: datetime.datetime) -> tuple[str, str]:
    """Return a new certificate for names, signed by itself, and its key, both in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, cluster)])
    usage = dict.fromkeys(
        (
            *("content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
            *("key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
        ),
        False,
    )
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + _tls.LIFETIME)
        .add_extension(
            x509.SubjectAlternativeName([_general(each) for each in names]), critical=False
        )
        # Whoever trusts it trusts this server, and nobody for whom its key would sign.
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(digital_signature=True, **usage), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return (
        certificate.public_bytes(serialization.Encoding.PEM).decode(),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode(),
    )


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
