# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Ask the API of the server that runs on this host."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request


def get(url: str, key: str | None = None, timeout: float = 5) -> tuple[int, str]:
    """Return status and body of an answer; status 0 and the reason where nobody answers."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    # The certificate may be for other names than the address at which the host asks itself.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    # What is asked is on this host: no proxy stands before it.
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )
    try:
        with opener.open(urllib.request.Request(url, headers=headers), timeout=timeout) as response:  # noqa: S310
            return response.status, response.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode("utf-8", "replace")
    except (urllib.error.URLError, OSError) as error:
        return 0, str(getattr(error, "reason", error))
