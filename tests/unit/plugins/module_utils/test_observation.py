# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What Ray and vLLM answer, and the sentence where they do not."""

from __future__ import annotations

import json

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _observation

LISTED = {"nodes": {"10.0.0.1": 1}, "ray": "2.55.0", "python": "3.12.3"}
RAY_LOG = "look at the log of the Ray container on spark0"
URL = "http://127.0.0.1:8000"
VLLM_LOG = "look at the log of the vLLM container on spark0"


def test_nodes() -> None:
    out = f"a warning\n{json.dumps(LISTED)}\n"
    assert _observation.nodes("spark0", 0, out, "noise") == LISTED


@pytest.mark.parametrize(
    ("ended", "sentence"),
    [
        (
            (
                1,
                "",
                "noise\nsamewire: 0f3a: no Ray head answers at 10.0.0.1:6379 after 10 s (x); y\n",
            ),
            "spark0: no Ray head answers at 10.0.0.1:6379 after 10 s (x); y",
        ),
        (
            (1, "", "Traceback\nModuleNotFoundError: No module named 'ray'"),
            "spark0: the nodes of Ray cannot be listed (ModuleNotFoundError: No module named 'ray'); "
            + RAY_LOG,
        ),
        (
            (137, "", ""),
            f"spark0: the nodes of Ray cannot be listed (it ended with 137); {RAY_LOG}",
        ),
        (
            (0, "", ""),
            f"spark0: the nodes of Ray cannot be listed (expected JSON, got ''); {RAY_LOG}",
        ),
    ],
)
def test_no_nodes(ended: tuple[int, str, str], sentence: str) -> None:
    with pytest.raises(_observation.Unanswered) as problem:
        _observation.nodes("spark0", *ended)
    assert str(problem.value) == sentence


def completion(status: int, body: str) -> str:
    return _observation.completion("spark0", URL, status, body, 120)


def test_completion() -> None:
    assert completion(200, '{"choices": [{"text": " Paris"}]}') == " Paris"


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [
        (
            0,
            "timed out",
            "does not answer (timed out), expected a completion within 120 s; ",
        ),
        (
            401,
            '{"error": "Unauthorized"}',
            "refuses the API key (status 401), expected the one that it was started with; see "
            "vllm_server_api_key, and ",
        ),
        (
            404,
            '{"error": {"message": "The model `a` does not exist.", "code": 404}}',
            "refuses a completion (status 404: The model `a` does not exist.), expected status 200; ",
        ),
        (
            400,
            '{"object": "error", "message": "too long"}',
            "refuses a completion (status 400: too long), expected status 200; ",
        ),
        (
            500,
            "Internal\nServer Error",
            "refuses a completion (status 500: Internal Server Error), expected status 200; ",
        ),
        (502, "", "refuses a completion (status 502: no reason), expected status 200; "),
        (200, "[]", "answers without a completion, expected its text, got '[]'; "),
        (200, "<html>", "answers without a completion, expected its text, got '<html>'; "),
    ],
)
def test_no_completion(status: int, body: str, sentence: str) -> None:
    with pytest.raises(_observation.Unanswered) as problem:
        completion(status, body)
    assert str(problem.value) == f"spark0: vLLM at {URL} {sentence}{VLLM_LOG}"
