# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The certificate of the API: its names, when it is renewed, and what is wrong with one that is given.

Certificates are read and made by plugin_utils/_certificate.py, on the controller alone.
"""

from __future__ import annotations

import datetime
import ipaddress
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

CERTIFICATE, KEY, SWITCH = "vllm_server_tls_certificate", "vllm_server_tls_key", "vllm_server_tls"

# Browsers and the systems of Apple take no certificate that lives longer.
LIFETIME = datetime.timedelta(days=397)
RENEWED = datetime.timedelta(days=30)
WARNED = datetime.timedelta(days=14)

_OWN = ("localhost", "127.0.0.1", "::1")
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_DNS = re.compile(rf"(\*\.)?{_LABEL}(\.{_LABEL})*", re.IGNORECASE)


@dataclass(frozen=True)
class Certificate:
    """A certificate as far as it matters here.

    names: DNS names and addresses that it is for; begins, ends: in UTC; self_signed: nobody else vouches.
    """

    names: frozenset[str]
    begins: datetime.datetime
    ends: datetime.datetime
    self_signed: bool


def name(text: str) -> str | None:
    """Return a DNS name or an address as certificates hold it, None for any other text."""
    # Certificates hold no interface, which follows an address of one link.
    text = text.strip("[]").partition("%")[0]
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return text.lower() if len(text) <= 253 and _DNS.fullmatch(text) else None


def names(candidates: Iterable[str]) -> list[str]:
    """Return what a certificate must be for: those candidates that can be, and the server's own host.

    An address that stands for all, as 0.0.0.0, is none to connect to.
    """
    found = [name(each) for each in (*candidates, *_OWN)]
    return list(dict.fromkeys(each for each in found if each and each not in ("0.0.0.0", "::")))  # noqa: S104


def covers(certificate: Certificate, wanted: str) -> bool:
    """Return whether a certificate is for a name; a star stands for one label."""
    rest = wanted.partition(".")[2]
    return wanted in certificate.names or (bool(rest) and f"*.{rest}" in certificate.names)


def is_due(
    certificate: Certificate | None, wanted: Collection[str], now: datetime.datetime
) -> bool:
    """Return whether a certificate that was made here must give way to a new one; None: there is none."""
    return (
        certificate is None
        or not certificate.self_signed
        or certificate.ends - now < RENEWED
        or not all(covers(certificate, each) for each in wanted)
    )


def incomplete(host: str, given: Sequence[str], *, enabled: bool) -> list[str]:
    """Return what is wrong with what is given at all; given: CERTIFICATE, KEY, or both."""
    if given and not enabled:
        return [
            f"{host}: {' and '.join(given)} would not be used, since {SWITCH} is false; set {SWITCH}: true, "
            f"or remove {'them' if len(given) > 1 else 'it'} from the inventory"
        ]
    if len(given) == 1:
        other = KEY if given[0] == CERTIFICATE else CERTIFICATE
        return [
            f"{host}: {given[0]} is given without {other}, expected both or neither; give {other}, or remove "
            f"{given[0]} for a certificate that is made up"
        ]
    return []


def _shown(moment: datetime.datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def out_of_date(host: str, certificate: Certificate, now: datetime.datetime) -> list[str]:
    """Return that a given certificate is not valid now."""
    if certificate.ends <= now:
        return [
            f"{host}: {CERTIFICATE} expired on {_shown(certificate.ends)}, expected one that is valid now; "
            "renew it"
        ]
    if certificate.begins > now:
        return [
            f"{host}: {CERTIFICATE} is valid from {_shown(certificate.begins)} on, expected one that is "
            "valid now; wait until then, or correct the controller's clock"
        ]
    return []


def notes(host: str, certificate: Certificate, address: str, now: datetime.datetime) -> list[str]:
    """Return what is worth knowing of a given certificate; address: where the record says that the API is."""
    found = []
    left = certificate.ends - now
    if left < WARNED:
        found.append(
            f"{host}: {CERTIFICATE} expires on {_shown(certificate.ends)}, in {left.days} days; renew it"
        )
    if not covers(certificate, name(address) or address):
        held = ", ".join(sorted(certificate.names)) or "no name"
        found.append(
            f"{host}: {CERTIFICATE} is for {held}, and not for {address}, where samewire chat asks; set "
            "ansible_host to a name that it is for, or have it issued for that, too"
        )
    return found
