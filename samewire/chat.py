# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""One question to a deployed model."""

from __future__ import annotations

import requests

from samewire.record import Record

TIMEOUT_S = 120


class ChatError(RuntimeError):
    """No answer; the message is one sentence."""


def ask(record: Record, prompt: str, api_key: str | None = None) -> str:
    """Return the model's answer to a prompt.

    Raises:
        ChatError: The deployment does not answer, or answers with an error.
    """
    url = record.endpoints["chat"]
    try:
        response = requests.post(
            url,
            json={"model": record.model, "messages": [{"role": "user", "content": prompt}]},
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            timeout=TIMEOUT_S,
        )
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
