# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Every case of the corpus, and what holds for all rules."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.samewire.vllm.plugins.module_utils import _diagnosis
from ansible_collections.samewire.vllm.plugins.module_utils._signatures import Rule, Signature
from ansible_collections.samewire.vllm.plugins.module_utils._signatures_marks import MARKS
from docs.findings import ROOT, render

CORPUS = ROOT / "tests" / "corpus" / "logs"
READY = "(APIServer pid=1) INFO:     Application startup complete.\n"
GLOO = "Gloo connectFullMesh failed ... SO_ERROR: Connection refused, remote=[127.0.0.1]:14215\n"
DEAD = "ray.exceptions.ActorDiedError: The actor died because of an error raised in its creation task\n"
REFUSED = "[c10d] The client socket has failed to connect to [10.0.0.1]:5 (errno: 111 - refused).\n"


def case(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return loaded


CASES = {path.stem: case(path) for path in sorted(CORPUS.glob("*.yml"))}


def expected(known: dict[str, Any]) -> str | None:
    return None if known["class"].startswith("healthy") else known["class"]


def primary(*logs: tuple[str, str]) -> str | None:
    found = _diagnosis.diagnose(logs)
    return found[0].rule.id if found else None


@pytest.mark.parametrize("name", CASES)
def test_the_cause_of_a_case(name: str) -> None:
    assert primary((name, CASES[name]["log"])) == expected(CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_a_case_in_the_log_file_of_docker(name: str) -> None:
    lines = CASES[name]["log"].splitlines()
    wrapped = [
        json.dumps({"log": f"{line}\n", "stream": "stderr", "time": "2026-11-30T10:00:00.0Z"})
        for line in lines
    ]
    assert primary((name, "\n".join(wrapped).replace('{"log": ', '{"log":'))) == expected(
        CASES[name]
    )


@pytest.mark.parametrize("name", CASES)
def test_a_case_between_the_lines_of_others(name: str) -> None:
    noise = '(APIServer pid=1) INFO:     10.0.0.1:40112 - "GET /health HTTP/1.1" 200 OK'
    lines = [
        f"(RayWorkerProc pid=7, ip=10.0.0.2) {line}" for line in CASES[name]["log"].splitlines()
    ]
    log = "\n".join(each for line in lines for each in (noise, line))
    assert primary((name, log)) == expected(CASES[name])


@pytest.mark.parametrize(
    "name", [name for name, known in CASES.items() if known["class"].startswith("healthy")]
)
def test_a_healthy_log_has_no_finding_at_all(name: str) -> None:
    assert _diagnosis.diagnose([(name, CASES[name]["log"])]) == []


@pytest.mark.parametrize("rule", _diagnosis.RULES, ids=lambda rule: rule.id)
def test_a_rule_has_a_case_and_all_that_a_reader_needs(rule: Rule) -> None:
    assert rule.id in {known["class"] for known in CASES.values()}
    assert rule.cause.endswith(".")
    assert rule.remedy.endswith(".")
    assert rule.link.startswith("https://")
    assert set(rule.explains) <= {other.id for other in _diagnosis.RULES} - {rule.id}


def test_ids_are_the_classes_of_the_corpus() -> None:
    classes = {expected(known) for known in CASES.values()} - {None}
    assert classes == {rule.id for rule in _diagnosis.RULES}
    assert len(_diagnosis.RULES) == len(classes)


SIGNATURES = [
    *(each for rule in _diagnosis.RULES for each in rule.signatures),
    *(each for signatures in MARKS.values() for each in signatures),
]


@pytest.mark.parametrize("signature", SIGNATURES, ids=lambda each: each.needle)
def test_a_needle_can_be_found(signature: Signature) -> None:
    # Digits, quotes and angle brackets differ between lines or are escaped in Docker's log files.
    assert re.fullmatch(r"[^A-Z0-9\"<>]*[a-z][^A-Z0-9\"<>]*", signature.needle)
    assert set(signature.needs) | set(signature.without) <= set(MARKS)
    # The lines that follow are kept up to here.
    assert 1 <= signature.lines <= 8


def test_the_first_cause_wins_over_its_consequences() -> None:
    found = _diagnosis.diagnose([("a", DEAD + REFUSED + GLOO)])
    assert [each.rule.id for each in found] == [
        "gloo_loopback_address",
        "c10d_master_unreachable",
        "secondary_error",
    ]
    assert [each.confidence for each in found] == ["high", "medium", "high"]


def test_of_two_causes_the_earlier_wins_by_the_clock_where_there_is_one() -> None:
    port = "ERROR 11-30 10:00:09 [a.py:1] [Errno 98] Address already in use\n"
    heads = (
        "ERROR 11-30 10:00:05 [a.py:1] Total number of attention heads (52) must be divisible by tensor "
        "parallel size (3).\n"
    )
    assert primary(("a", port), ("b", heads)) == "tp_size_not_dividing_heads"
    assert primary(("a", port.replace("10:00:09", "10:00:01")), ("b", heads)) == "port_in_use"
    assert primary(("a", "[Errno 98] Address already in use"), ("b", heads)) == "port_in_use"


def test_what_a_server_overcame_is_no_finding() -> None:
    assert primary(("a", REFUSED + DEAD + READY)) is None
    assert primary(("a", READY + GLOO)) == "gloo_loopback_address"
    # Another host's log does not say that it got ready; what is sure there stays.
    assert primary(("head", READY), ("worker", GLOO)) == "gloo_loopback_address"
    assert primary(("head", READY), ("worker", "NCCL INFO Using network Socket\n")) is None


def test_a_silent_fallback_is_a_finding_of_a_running_server() -> None:
    log = "NCCL INFO NCCL_IB_HCA set to mlx5_9\nNCCL INFO Using network Socket\n"
    assert primary(("a", log + READY)) == "rdma_fallback_to_socket"


def test_a_message_over_several_lines_is_read_past_other_processes() -> None:
    log = (
        "(raylet) Error: No available node types can fulfill resource request\n"
        "(EngineCore pid=2) INFO 11-30 10:00:00 [a.py:1] something else\n"
        "(raylet)   {'GPU': 1.0, 'node:10.1.230.180': 0.001}.\n"
    )
    assert primary(("a", log)) == "node_ip_mismatch"
    assert primary(("a", log.replace(", 'node:10.1.230.180': 0.001", ""))) == (
        "not_enough_gpus_in_cluster"
    )


def test_evidence_names_file_line_host_and_rank() -> None:
    log = f"nothing\n(RayWorkerProc pid=7, ip=10.0.0.2) [rank1]: {GLOO}"
    assert _diagnosis.to_json(_diagnosis.diagnose([("hosts/b/vllm.log", log)])) == {
        "schema": "samewire.diagnosis/1",
        "primary": "gloo_loopback_address",
        "findings": [
            {
                "id": "gloo_loopback_address",
                "layer": "gloo",
                "cause": "Gloo resolved the host's own name to a loopback address and told it to the other "
                "ranks.",
                "remedy": "Set GLOO_SOCKET_IFNAME to the interconnect interface of each host, also in the "
                "Ray containers.",
                "variable": "GLOO_SOCKET_IFNAME",
                "link": "https://github.com/pytorch/gloo/issues/223",
                "confidence": "high",
                "evidence": [
                    {
                        "file": "hosts/b/vllm.log",
                        "line": 2,
                        "text": f"[rank1]: {GLOO.strip()}",
                        "host": "10.0.0.2",
                        "rank": 1,
                    }
                ],
            }
        ],
    }


def test_pieces_may_end_anywhere() -> None:
    whole = (("x" * 300 + "\n") * 9_000 + GLOO + "y\n" * 9).encode()
    diagnosis = _diagnosis.Diagnosis()
    diagnosis.read("a", (whole[start : start + 1_000] for start in range(0, len(whole), 1_000)))
    assert [event.line for event in diagnosis.findings()[0].evidence] == [9_001]


def test_evidence_and_effort_are_bounded() -> None:
    log = "".join(
        f"connect 10.0.0.{number} failed: Connection refused by gloo\n" for number in range(50_000)
    )
    found = _diagnosis.diagnose([("a", log + GLOO * 100)])
    assert len(found[0].evidence) == 3


def test_the_page_of_the_findings_is_written_from_the_rules() -> None:
    written = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    assert written == render(), "run: python docs/findings.py"
