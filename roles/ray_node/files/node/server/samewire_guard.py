# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Asks for the key of the API on every path; vLLM's own --api-key guards only those under a few prefixes.

vLLM adds what --middleware names last, so that it stands before all of its own middleware; source:
vllm/entrypoints/serve/middleware/register.py of 0.32, build_app in openai/api_server.py of older releases.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import os
import pathlib

# They say whether the server lives, and nothing else; source: vllm/entrypoints/serve.
OPEN = frozenset({"/health", "/ping"})
METRICS = "/metrics"

_REFUSAL = json.dumps(
    {
        "error": {
            "message": "The key is missing or wrong, expected a header Authorization: Bearer KEY",
            "type": "invalid_request_error",
            "param": None,
            "code": "invalid_api_key",
        }
    }
).encode()


def _address(end):
    """Return the address of one end of a connection, (host, port); None where it has none."""
    try:
        address = ipaddress.ip_address(end[0])
    except (TypeError, ValueError):
        return None
    # A socket that listens on :: sees IPv4 so.
    return getattr(address, "ipv4_mapped", None) or address


def _is_preflight(scope):
    """Whether CORSMiddleware answers, which vLLM always has; source: starlette/middleware/cors.py."""
    names = {name for name, _unused in scope["headers"]}
    return scope["method"] == "OPTIONS" and {b"origin", b"access-control-request-method"} <= names


class Guard:
    """Pure ASGI: reads no body and holds no answer back. Without a key the server does not start."""

    def __init__(self, app):
        """Read the key, and who else may read the metrics."""
        self._app = app
        self._key = pathlib.Path(os.environ["SAMEWIRE_API_KEY_FILE"]).read_bytes().strip()
        if not self._key:
            raise ValueError("the file of the key of the API is empty")
        self._readers = [
            ipaddress.ip_network(each, strict=False)
            for each in os.environ.get("SAMEWIRE_METRICS_CLIENTS", "").split()
        ]

    async def __call__(self, scope, receive, send):
        """Pass on who may pass, refuse everybody else."""
        if scope["type"] == "lifespan" or self._may_pass(scope):
            await self._app(scope, receive, send)
            return
        # Any other type of scope is an error, and so refused as well.
        kind = {"http": "http.response", "websocket": "websocket.http.response"}[scope["type"]]
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(_REFUSAL)).encode()),
            (b"www-authenticate", b"Bearer"),
        ]
        await send({"type": f"{kind}.start", "status": 401, "headers": headers})
        await send({"type": f"{kind}.body", "body": _REFUSAL})

    def _may_pass(self, scope):
        if scope["type"] == "http" and (
            scope["path"] in OPEN
            or _is_preflight(scope)
            or (scope["path"] == METRICS and self._reads_metrics(scope))
        ):
            return True
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        scheme, _unused, key = b"".join(given).partition(b" ")
        return (
            len(given) == 1 and scheme.lower() == b"bearer" and hmac.compare_digest(key, self._key)
        )

    def _reads_metrics(self, scope):
        """Whether the other end is this host, or one that may read the metrics without the key."""
        # Behind a proxy the address is what somebody says.
        if any(name in (b"x-forwarded-for", b"forwarded") for name, _unused in scope["headers"]):
            return False
        client = _address(scope.get("client"))
        return client is not None and (
            client.is_loopback
            or client == _address(scope.get("server"))
            or any(client in network for network in self._readers)
        )
