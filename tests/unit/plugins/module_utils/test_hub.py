# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Which revision is meant, who downloads, and what a download says."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _hub

ANSWERED = {"status": 401}
SILENT = {
    "status": -1,
    "msg": "Status code was -1 and not [200]: Request failed: <urlopen error [Errno 111] Connection refused>",
}


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


def test_the_head_downloads_where_it_reaches_the_hub() -> None:
    answers = {"a": ANSWERED, "head": ANSWERED}
    assert _hub.downloader(answers, "o/m", "https://hub", "head") == ("head", [])
    assert _hub.downloader({**answers, "head": SILENT}, "o/m", "https://hub", "head") == ("a", [])
    assert _hub.downloader(answers, "o/m", "https://hub", "head", "a") == ("a", [])


def test_nobody_reaches_the_hub() -> None:
    answers = {"a": SILENT, "head": {"failed": True}}
    assert _hub.downloader(answers, "o/m", "https://hub", "head") == (
        None,
        [
            "no host has o/m, and the hub at https://hub is not reached (head: no answer, a: [Errno 111] "
            "Connection refused); open the way to it from one host, set HF_ENDPOINT or HTTPS_PROXY in "
            "ray_node_environment, or copy the model to a host and give its path as vllm_server_model"
        ],
    )


def test_a_pinned_host_that_is_none() -> None:
    assert _hub.downloader({"a": ANSWERED}, "o/m", "https://hub", "a", "b") == (
        None,
        ["model_weights_downloader is b, expected one of a; correct it in the inventory"],
    )


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
