# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Take secrets out of logs: the values that are known, and what looks like a token or a key."""

from __future__ import annotations

import re
from collections.abc import Iterable

HIDDEN = "(hidden)"

# Shorter values are words that other lines hold too.
_SHORTEST = 8
# Names that end so hold a secret; those that end in _FILE or _PATH say where one is kept.
_NAME = r"(?:\w*(?:API_KEY|ACCESS_KEY|SECRET_KEY|PRIVATE_KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?))"
_LOWER = (
    r"(?:(?:[a-z]\w*_)?(?:api_key|access_key|secret_key|private_key|auth_token|hf_token|access_token)"
    r"|password)"
)
_SECRET_NAME = re.compile(rf"{_NAME}|{_LOWER}")
_VALUE = r"[^\s\"',;\[\](){}]+"
_PATTERNS = (
    # NAME=value of an environment, name: value and 'name': ['value'] of a configuration.
    re.compile(rf"(?P<kept>\b(?:{_NAME}|{_LOWER})[\"']?\s*[=:]\s*\[?[\"']?){_VALUE}"),
    re.compile(rf"(?P<kept>--(?:api-key|hf-token|password|token)[ =]){_VALUE}"),
    re.compile(r"(?P<kept>\b(?:Bearer|Basic)\s+)[\w.~+/=-]{8,}", re.IGNORECASE),
    re.compile(r"(?P<kept>\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@]+:)[^\s/@]+(?=@)"),
    # The forms of Hugging Face, OpenAI, GitHub, GitLab, AWS, NGC, Slack, and JSON web tokens.
    re.compile(
        r"(?P<kept>)\b(?:hf_[A-Za-z0-9]{20,}|sk-[\w-]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}"
        r"|glpat-[\w-]{16,}|(?:AKIA|ASIA)[A-Z0-9]{16}|nvapi-[\w-]{20,}|xox[abprs]-[\w-]{10,}"
        r"|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)"
    ),
    re.compile(
        r"(?P<kept>-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?=-----END|\Z)",
        re.DOTALL,
    ),
)
_NOTHING = {"", "none", "null", "true", "false", HIDDEN.strip("()")}


def is_secret_name(name: str) -> bool:
    """Return whether a variable of this name holds a secret."""
    return _SECRET_NAME.fullmatch(name) is not None


def secret_values(environment: Iterable[str]) -> list[str]:
    """Return the secrets among NAME=value entries, as `docker inspect` lists them."""
    pairs = (entry.partition("=") for entry in environment)
    return [value for name, _unused, value in pairs if value and is_secret_name(name)]


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the text without secrets; secrets: values that are known to be some."""
    for secret in sorted({each.strip() for each in secrets}, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, HIDDEN)
    for pattern in _PATTERNS:
        text = pattern.sub(_hidden, text)
    return text


def _hidden(found: re.Match[str]) -> str:
    kept = found["kept"]
    value = found[0][len(kept) :]
    # What is no value of its own stays: it says that the secret is absent.
    return found[0] if value.lower() in _NOTHING else kept + HIDDEN
