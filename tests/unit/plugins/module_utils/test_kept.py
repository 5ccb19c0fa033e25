# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Names of containers of before, and where their servers answer."""

from __future__ import annotations

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _kept

SERVE = ["python", "cluster_nodes.py", "wait", "--", "vllm", "serve", "/models/tiny"]


def test_names() -> None:
    assert _kept.before("pair-ray") == "pair-ray-before"
    assert _kept.is_before(_kept.before("pair-ray"))
    assert not _kept.is_before("pair-ray")


@pytest.mark.parametrize(
    ("arguments", "url"),
    [
        (["--host", "0.0.0.0", "--port", "8000"], "http://127.0.0.1:8000"),
        (["--host", "::", "--port", "8001"], "http://[::1]:8001"),
        (["--host", "10.0.0.2", "--port", "80"], "http://10.0.0.2:80"),
        (["--port", "8000", "--ssl-certfile", "/c"], "https://127.0.0.1:8000"),
        (["--port", "many"], None),
        ([], None),
    ],
)
def test_where_a_server_answers(arguments: list[str], url: str | None) -> None:
    assert _kept.server_url([*SERVE, *arguments]) == url
