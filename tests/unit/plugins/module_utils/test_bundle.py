# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What travels from a host to the controller, and how a failed run ends."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _bundle

FINDING: dict[str, Any] = {
    "id": "gloo_loopback_address",
    "cause": "Gloo listens on the loopback",
    "remedy": "Give Gloo the interface",
    "variable": "GLOO_SOCKET_IFNAME",
    "confidence": "high",
    "evidence": [
        {"file": "node1/c-ray.log", "line": 7, "text": "refused", "host": "10.0.0.2", "rank": None}
    ],
}
FAILED = {"host": "node0", "task": "Wait until vLLM is ready", "message": "node0: no start\n  line"}
KEPT = "All logs are in /b/1 and /b/1.tar.gz; samewire diagnose reads them."


def test_there_and_back() -> None:
    files = {"c-ray.log": "Ä\n", "ray/worker-1.err": ""}
    assert _bundle.unpack(_bundle.pack(files)) == files


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/passwd", "a//b", "", "a\nb", ".."])
def test_a_name_that_leaves_the_folder(name: str) -> None:
    with pytest.raises(_bundle.BundleRefused) as refused:
        _bundle.unpack(_bundle.pack({name: "text"}))
    assert str(refused.value) == f"{name!r} is no name of a file in it"


@pytest.mark.parametrize(
    "packed",
    ["", "!", base64.b64encode(b"x").decode(), base64.b64encode(zlib.compress(b"{")).decode()],
)
def test_what_was_not_packed(packed: str) -> None:
    with pytest.raises(_bundle.BundleRefused, match=r"^it is damaged \("):
        _bundle.unpack(packed)


def test_the_end_of_a_long_log() -> None:
    assert _bundle.tail("one\ntwo\n", 8) == "one\ntwo\n"
    assert _bundle.tail("one\ntwo\nthree\n", 8) == ("samewire: the beginning is left out\nthree\n")


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("worker-1f-01000000-630.err", True),
        ("raylet.out", True),
        ("gcs_server.err", True),
        ("gcs_server.out", False),
        ("python-core-worker-1f_630.log", False),
        ("events", False),
    ],
)
def test_logs_of_ray(name: str, taken: bool) -> None:
    assert _bundle.is_ray_log(name) is taken


def test_a_known_cause_comes_first() -> None:
    assert _bundle.report([FINDING], [FAILED], "/b/1", {"node0/c.log": ["x"]}) == [
        "node1 (10.0.0.2): Gloo listens on the loopback (gloo_loopback_address)",
        "Evidence: node1/c-ray.log:7: refused",
        "Remedy: Give Gloo the interface",
        "Variable: GLOO_SOCKET_IFNAME",
        "What failed: node0: no start",
        KEPT,
    ]


@pytest.mark.parametrize("changes", [{"confidence": "low"}, {"id": "ray_node_marked_dead"}])
def test_a_doubtful_cause_comes_after_what_failed(changes: dict[str, Any]) -> None:
    doubtful = {**FINDING, **changes}
    assert _bundle.report([doubtful], [FAILED], "/b/1", {}) == [
        "node0: no start",
        "  line",
        f"Perhaps: Gloo listens on the loopback ({doubtful['id']})",
        "Remedy: Give Gloo the interface",
        KEPT,
    ]


def test_a_doubtful_cause_that_the_failure_names_itself_is_told_once() -> None:
    doubtful = {**FINDING, "confidence": "low"}
    said = (
        f"node0: no start\nCause: {FINDING['cause']} ({FINDING['id']})\nRemedy: {FINDING['remedy']}"
    )
    assert _bundle.report([doubtful], [{**FAILED, "message": said}], "/b/1", {}) == [
        *said.splitlines(),
        KEPT,
    ]


def test_no_cause_shows_the_last_lines() -> None:
    failed = {"host": "node1", "task": "Run the Ray container", "message": "refused"}
    logs = {"node1/c-ray.log": [str(number) for number in range(20)]}
    assert _bundle.report([], [failed], "/b/1", logs) == [
        "node1: Run the Ray container: refused",
        "No known fault in the logs.",
        "The last lines of node1/c-ray.log:",
        *(f"  {number}" for number in range(5, 20)),
        KEPT,
    ]


def test_nothing_failed() -> None:
    logs = {"node1/c-ray.log": ["old"]}
    assert _bundle.report([], [], "/b/1", logs) == ["No known fault in the logs.", KEPT]


def test_evidence_that_names_no_host() -> None:
    bare = [{"file": "x.log", "line": 1, "text": "t", "host": None, "rank": None}]
    assert _bundle.told({**FINDING, "evidence": bare, "variable": None}) == [
        "Gloo listens on the loopback (gloo_loopback_address)",
        "Evidence: x.log:1: t",
        "Remedy: Give Gloo the interface",
    ]
    assert json.dumps(FINDING)
