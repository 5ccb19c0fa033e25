# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""No secret leaves a host, and what is none stays readable."""

from __future__ import annotations

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _redaction

# In parts, or a scanner would take them for real ones.
HUB = "hf_" + "a1B2" * 8
JWT = "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NSJ9" + ".c2lnbmF0dXJl"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"HF_TOKEN={HUB}", "HF_TOKEN=(hidden)"),
        (f'"HF_TOKEN={HUB}",', '"HF_TOKEN=(hidden)",'),
        (f"login with {HUB} failed", "login with (hidden) failed"),
        ("VLLM_API_KEY=correct-horse", "VLLM_API_KEY=(hidden)"),
        ("AWS_SECRET_ACCESS_KEY=abc/def+1", "AWS_SECRET_ACCESS_KEY=(hidden)"),
        ("'api_key': ['correct-horse']", "'api_key': ['(hidden)']"),
        ("vllm serve --api-key correct-horse --port 1", "vllm serve --api-key (hidden) --port 1"),
        ("Authorization: Bearer abcdef012345", "Authorization: Bearer (hidden)"),
        ("http://user:pa55@proxy:3128/", "http://user:(hidden)@proxy:3128/"),
        ("redis_password: hunter22", "redis_password: hunter22"),
        ("password=hunter22 now", "password=(hidden) now"),
        (f"got {JWT}", "got (hidden)"),
        (
            "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\nbnNz\n-----END OPENSSH PRIVATE KEY-----\nnext",
            "-----BEGIN OPENSSH PRIVATE KEY-----(hidden)-----END OPENSSH PRIVATE KEY-----\nnext",
        ),
    ],
)
def test_what_looks_like_a_secret(text: str, kept: str) -> None:
    assert _redaction.redacted(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "SAMEWIRE_API_KEY_FILE=/samewire-secrets/vllm_api_key",
        "RAY_AUTH_TOKEN_PATH=/samewire-secrets/ray_token",
        "max_num_batched_tokens=2048, 'api_key': None, hf_token=None",
        "Avg prompt throughput: 4.0 tokens/s, Running: 1 reqs",
        "tcp://10.0.0.1:6379: Connection refused",
        "Ray runtime started. Next steps: ray start --address='10.0.0.1:6379'",
        "node:10.0.0.1, RAY_AUTH_MODE=token",
    ],
)
def test_what_is_none(text: str) -> None:
    assert _redaction.redacted(text) == text


def test_known_values_go_wherever_they_stand() -> None:
    text = "token 0123456789abcdef-long in a header, 0123456789abcdef alone, and word"
    secrets = ["0123456789abcdef\n", "0123456789abcdef-long", "word"]
    expected = "token (hidden) in a header, (hidden) alone, and word"
    assert _redaction.redacted(text, secrets) == expected


def test_secrets_of_an_environment() -> None:
    environment = ["PATH=/bin", "MY_TOKEN=abc=def", "HF_TOKEN=", "TOKEN_PATH=/x", "DB_PASSWORD=x"]
    assert _redaction.secret_values(environment) == ["abc=def", "x"]
