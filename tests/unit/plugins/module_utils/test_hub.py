# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Which revision is meant, who downloads, and what a download says."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _hub

LISTED = {
    "sha": "c0ffee",
    "siblings": [
        {"rfilename": "config.json", "size": 2},
        {"rfilename": "m.safetensors", "size": 9},
    ],
}
ANSWERED = _hub.answer(200, "", "", LISTED)
SILENT = _hub.answer(-1, "[Errno 111] Connection refused", "", None)
ASKED = _hub.Asked("o/m", "https://hub")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "main"),
        (["--max-model-len", "8192"], "main"),
        (["--revision", "v1"], "v1"),
        (["--revision=v2", "--enforce-eager"], "v2"),
        (["--tokenizer-revision", "v3"], "main"),
        (["--revision"], "main"),
    ],
)
def test_the_revision_of_the_arguments(arguments: list[str], expected: str) -> None:
    assert _hub.revision(arguments) == expected


def test_what_an_answer_says() -> None:
    assert ANSWERED == {
        "status": 200,
        "reason": "",
        "code": "",
        "commit": "c0ffee",
        "files": {"config.json": {"size": 2}, "m.safetensors": {"size": 9}},
        "config": None,
    }
    assert SILENT["files"] == {}


def test_the_head_downloads_where_it_reaches_the_hub() -> None:
    answers = {"a": ANSWERED, "head": ANSWERED}
    assert _hub.downloader(answers, ASKED, "head") == ("head", [])
    assert _hub.downloader({**answers, "head": SILENT}, ASKED, "head") == ("a", [])
    assert _hub.downloader(answers, ASKED, "head", "a") == ("a", [])
    broken = _hub.answer(502, "", "", None)
    assert _hub.downloader({**answers, "head": broken}, ASKED, "head") == ("a", [])


def test_nobody_reaches_the_hub() -> None:
    answers = {"a": SILENT, "head": {**SILENT, "reason": ""}}
    assert _hub.downloader(answers, ASKED, "head") == (
        None,
        [
            "no host has o/m, and the hub at https://hub is not reached (head: no answer, a: [Errno 111] "
            "Connection refused); open the way to it from one host, set HF_ENDPOINT or HTTPS_PROXY in "
            "ray_node_environment, or copy the model to a host and give its path as vllm_server_model"
        ],
    )


def test_a_pinned_host_that_is_none() -> None:
    assert _hub.downloader({"a": ANSWERED}, ASKED, "a", "b") == (
        None,
        ["model_weights_downloader is b, expected one of a; correct it in the inventory"],
    )


@pytest.mark.parametrize(
    ("status", "code", "token", "sentence"),
    [
        (
            401,
            "GatedRepo",
            False,
            "a: o/m is gated, expected a token of an account that was granted access at https://hub/o/m, "
            "got no token; set vllm_server_hf_token",
        ),
        (
            401,
            "",
            True,
            "a: the hub at https://hub has no model o/m, or shows it only to others, got a token without "
            "it; correct vllm_server_model or set vllm_server_hf_token",
        ),
        (
            404,
            "RevisionNotFound",
            False,
            "a: o/m has no revision main; correct --revision in vllm_server_extra_args",
        ),
        (
            503,
            "",
            False,
            "a: the hub at https://hub answers 503 for o/m (why), expected its files; run again later, or "
            "set HF_ENDPOINT in ray_node_environment to another hub",
        ),
        (
            200,
            "",
            False,
            "a: o/m has no weights at https://hub, expected files that end in .safetensors, .bin, .pt, "
            ".gguf; correct vllm_server_model or --revision in vllm_server_extra_args",
        ),
    ],
)
def test_what_a_hub_refuses(status: int, code: str, token: bool, sentence: str) -> None:
    got = _hub.answer(status, "why", code, None)
    asked = _hub.Asked("o/m", "https://hub", token=token)
    assert _hub.downloader({"a": got}, asked, "a") == ("a", [sentence])


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (["a.safetensors", "a.bin", "config.json"], ["a.safetensors", "config.json"]),
        (["a.bin", "original/a.safetensors"], ["a.bin"]),
    ],
)
def test_other_formats_are_left_where_there_are_safetensors(
    names: list[str], kept: list[str]
) -> None:
    assert list(_hub.wanted(dict.fromkeys(names), ["original/*"])) == kept


@pytest.mark.parametrize(
    ("lines", "code", "expected"),
    [
        ([], None, (False, "", "")),
        (["noise", '{"progress": "1"}', '{"progress": "2"}', "3"], None, (False, "", "2")),
        (['{"progress": "all"}'], 0, (True, "", "all")),
        (['{"problem": "p"}', "at exit"], 1, (False, "p", "")),
        (["sh: no python"], 127, (False, "the download ended with code 127: sh: no python", "")),
        ([], 137, (False, "the download ended with code 137: it said nothing", "")),
    ],
)
def test_what_a_download_says(
    lines: list[str], code: int | None, expected: tuple[Any, ...]
) -> None:
    judged = _hub.judged(lines, code)
    assert (judged["over"], judged["problem"], judged["progress"]) == expected
