# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""One question to a deployed model."""

from __future__ import annotations

import re
import ssl
from pathlib import Path
from typing import Any

import requests
from requests.adapters import HTTPAdapter

from samewire.record import Record

TIMEOUT_S = 120


class ChatError(RuntimeError):
    """No answer; the message is one sentence."""


class _Pinned(HTTPAdapter):
    """Trusts a certificate by itself, also one that somebody issued whose own is not beside it."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        super().init_poolmanager(*args, ssl_context=context, **kwargs)


def ask(
    record: Record, prompt: str, api_key: str | None = None, certificate: Path | None = None
) -> str:
    """Return the model's answer to a prompt.

    certificate: the file of the one certificate to trust; None trusts what the system trusts.

    Raises:
        ChatError: The deployment does not answer, or answers with an error.
    """
    url = record.endpoints["chat"]
    session = requests.Session()
    if certificate:
        session.mount("https://", _Pinned())
    try:
        response = session.post(
            url,
            json={"model": record.model, "messages": [{"role": "user", "content": prompt}]},
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            timeout=TIMEOUT_S,
            verify=str(certificate) if certificate else True,
        )
    except requests.exceptions.SSLError as error:
        expected = f"the certificate in {certificate}" if certificate else "one the system trusts"
        raise ChatError(
            f"{record.cluster} cannot be trusted: expected {expected} from {url}, got another "
            f"({_reason(error)}); deploy it again from here, or see who answers there."
        ) from None
    except requests.RequestException as error:
        raise ChatError(
            f"{record.cluster} does not answer: expected a server at {url}, got "
            f"{type(error).__name__}; deploy it again, or look at the logs of its containers."
        ) from None
    if not response.ok:
        raise ChatError(
            f"{record.cluster} refused the question: expected status 200 from {url}, got "
            f"{response.status_code}: {response.text.strip()}"
        )
    return str(response.json()["choices"][0]["message"]["content"])


def _reason(error: requests.exceptions.SSLError) -> str:
    """Return what OpenSSL said, without what each layer above it has put around."""
    said = re.search(r"verify failed: (?P<reason>.*?)\.? \(_ssl", str(error))
    return said["reason"] if said else type(error).__name__
