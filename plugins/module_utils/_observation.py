# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Read what Ray and vLLM answered about the cluster that they are, or say why they did not."""

from __future__ import annotations

import json
import re
from typing import Any

# What cluster_nodes.py says before its own sentence.
_OWN_WORDS = re.compile(r"^samewire: \S+: ")
_SHOWN = 200


class Unanswered(Exception):
    """A question that was not answered; the message is one sentence."""


def no_nodes(host: str, reason: str) -> Unanswered:
    """Return that Ray's nodes cannot be listed."""
    return Unanswered(
        f"{host}: the nodes of Ray cannot be listed ({reason}); look at the log of the Ray container "
        f"on {host}"
    )


def nodes(host: str, code: int, out: str, err: str) -> dict[str, Any]:
    """Return what cluster_nodes.py listed: `nodes`, GPUs by address, the versions `ray`, `python`.

    code, out, err: how it ended, and what it printed.

    Raises:
        Unanswered: It listed none.
    """
    if code:
        last = _last_line(err) or _last_line(out) or f"it ended with {code}"
        if _OWN_WORDS.match(last):
            raise Unanswered(_OWN_WORDS.sub(f"{host}: ", last))
        raise no_nodes(host, last)
    try:
        return dict(json.loads(_last_line(out)))
    except ValueError as error:
        raise no_nodes(host, f"expected JSON, got {_last_line(out)[:_SHOWN]!r}") from error


def completion(host: str, url: str, status: int, body: str, timeout: float) -> str:
    """Return the text of a completion.

    status, body: the answer, status 0 and the reason where there was none; timeout: of the question.

    Raises:
        Unanswered: It holds no text.
    """
    asked = f"{host}: vLLM at {url}"
    cure = f"look at the log of the vLLM container on {host}"
    if not status:
        raise Unanswered(
            f"{asked} does not answer ({body}), expected a completion within {timeout:g} s; {cure}"
        )
    if status == 401:
        raise Unanswered(
            f"{asked} refuses the API key (status 401), expected the one that it was started with; see "
            f"vllm_server_api_key, and {cure}"
        )
    if status != 200:
        raise Unanswered(
            f"{asked} refuses a completion (status {status}: {_reason(body)}), expected status 200; {cure}"
        )
    try:
        return str(json.loads(body)["choices"][0]["text"])
    except (ValueError, LookupError, TypeError) as error:
        raise Unanswered(
            f"{asked} answers without a completion, expected its text, got {body[:_SHOWN]!r}; {cure}"
        ) from error


def _reason(body: str) -> str:
    """Return what a refusal says, in one line."""
    try:
        said = json.loads(body)
        # Releases differ in whether the message stands by itself.
        said = said.get("error", said)
        return str(said.get("message") or said)[:_SHOWN]
    except (ValueError, AttributeError):
        return " ".join(body.split())[:_SHOWN] or "no reason"


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1].strip()
