# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""One question to a deployed model."""

from __future__ import annotations

from samewire.api import Api


def ask(api: Api, prompt: str) -> str:
    """Return the model's answer to a prompt.

    Raises:
        ApiError: The deployment does not answer, or answers with an error.
    """
    body = {"model": api.deployed.model, "messages": [{"role": "user", "content": prompt}]}
    response = api.post(api.deployed.endpoints["chat"], body)
    return str(response.json()["choices"][0]["message"]["content"])
