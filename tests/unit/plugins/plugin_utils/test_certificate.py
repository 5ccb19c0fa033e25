# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A certificate that is made here, as OpenSSL sees it."""

from __future__ import annotations

import pathlib
import ssl
import subprocess

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _tls
from ansible_collections.samewire.vllm.plugins.plugin_utils import _certificate
from tests.unit.certificates import DAY, NOW, issued

NAMES = ["spark0", "10.1.2.3", "localhost", "fd00::12"]


def test_what_is_made_is_read_again() -> None:
    certificate, key = _certificate.make("pair", NAMES, NOW)
    read = _certificate.read(certificate)
    assert read == _tls.Certificate(frozenset(NAMES), NOW - DAY / 24, NOW + 397 * DAY, True)
    assert not _tls.is_due(read, NAMES, NOW)
    _certificate.check_key(certificate, key)
    assert _certificate.make("pair", NAMES, NOW)[1] != key


@pytest.mark.parametrize("name", NAMES)
def test_clients_that_are_strict_trust_it(tmp_path: pathlib.Path, name: str) -> None:
    certificate, key = _certificate.make("pair", NAMES, NOW)
    (tmp_path / "api.crt").write_text(certificate)
    (tmp_path / "api.key").write_text(key)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "api.crt", tmp_path / "api.key")
    client = ssl.create_default_context(cafile=str(tmp_path / "api.crt"))
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    _shake_hands(client, server, name)
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        _shake_hands(client, server, "spark1")


def _shake_hands(client: ssl.SSLContext, server: ssl.SSLContext, name: str) -> None:
    """Let two ends meet in memory."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    while ends:
        for end in list(ends):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            ends.remove(end)


def test_nobody_can_issue_others_with_its_key(tmp_path: pathlib.Path) -> None:
    (tmp_path / "api.crt").write_text(_certificate.make("pair", NAMES, NOW)[0])
    shown = subprocess.run(
        ["openssl", "x509", "-noout", "-text", "-in", tmp_path / "api.crt"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for text in ("CA:FALSE", "prime256v1", "Digital Signature\n", "TLS Web Server Authentication"):
        assert text in shown
    assert "Certificate Sign" not in shown


def test_the_certificate_of_the_server_comes_first() -> None:
    (first, key), (second, _) = issued("api.example.org"), issued("other")
    read = _certificate.read(first + second)
    assert (read.names, read.self_signed) == ({"api.example.org"}, False)
    _certificate.check_key(first + second, key)
    with pytest.raises(_certificate.CertificateRefused, match="is not the key of"):
        _certificate.check_key(second + first, key)
