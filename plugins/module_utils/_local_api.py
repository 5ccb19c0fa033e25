# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Ask the API of the server that runs on this host."""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any


def get(url: str, key: str | None = None, timeout: float = 5) -> tuple[int, str]:
    """Return status and body of an answer; status 0 and the reason where nobody answers."""
    return _answer(urllib.request.Request(url), key, timeout)  # noqa: S310


def post(
    url: str, document: Mapping[str, Any], key: str | None = None, timeout: float = 5
) -> tuple[int, str]:
    """Return what `get` does, of a question that is a JSON document."""
    asked = urllib.request.Request(url, json.dumps(document).encode())  # noqa: S310
    asked.add_header("Content-Type", "application/json")
    return _answer(asked, key, timeout)


def _answer(asked: urllib.request.Request, key: str | None, timeout: float) -> tuple[int, str]:
    if key:
        asked.add_header("Authorization", f"Bearer {key}")
    # The certificate may be for other names than the address at which the host asks itself.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    # What is asked is on this host: no proxy stands before it.
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )
    try:
        with opener.open(asked, timeout=timeout) as response:
            return response.status, response.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        return 0, str(getattr(error, "reason", error))
