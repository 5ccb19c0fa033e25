# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What bench/gpu makes of NCCL's lines and the kernel's counters, and that its record is whole."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from bench.gpu import hosts, verdict
from bench.gpu.cases import CASES, IPV6, OWN_NAMES
from bench.gpu.verdict import Outcome, Rank
from tests.unit.modules import ROOT

PAYLOAD = 1_000_000
LOG = """\
vm:578:578 [0] NCCL INFO ENV/Plugin: Could not find: libnccl-env.so
vm:578:578 [0] NCCL INFO Bootstrap: Using fab0:10.77.0.1<0>
vm:578:578 [0] NCCL INFO NET/Socket : Using [0]fab0:10.77.0.1<0>
vm:578:578 [0] NCCL INFO Using network Socket
"""
BOTH = LOG.replace("[0]fab0:", "[0]mgmt0:10.88.0.1<0> [1]fab0:")
GOOD = Rank("fab0", "10.77.0.1", 0, True, LOG, {"lo": 40_000, "mgmt0": 410, "fab0": PAYLOAD})


def seen(**changes: Any) -> Rank:
    return dataclasses.replace(GOOD, **changes)


def test_the_interfaces_that_nccl_names() -> None:
    assert seen(log=BOTH).used("NET/Socket") == (("mgmt0", "10.88.0.1"), ("fab0", "10.77.0.1"))
    assert seen(log=BOTH).used("Bootstrap") == (("fab0", "10.77.0.1"),)
    ipv6 = "node0:1:1 [0] NCCL INFO NET/Socket : Using [0]fab0:fe80::2ff:fe00:2%fab0<0>\n"
    assert seen(log=ipv6).used("NET/Socket") == (("fab0", "fe80::2ff:fe00:2%fab0"),)
    assert seen(log="").used("NET/Socket") == ()


@pytest.mark.parametrize(
    ("other", "outcome"),
    [
        (seen(), Outcome.PLANNED),
        (seen(log="", layers=()), Outcome.PLANNED),
        (seen(log=BOTH), Outcome.BESIDE),
        (seen(log=LOG.replace("Bootstrap: Using fab0", "Bootstrap: Using mgmt0")), Outcome.BESIDE),
        (seen(address="10.77.0.9"), Outcome.BESIDE),
        (seen(sent={"fab0": PAYLOAD - 1}), Outcome.BESIDE),
        (seen(sent={"fab0": PAYLOAD, "mgmt0": verdict.NOISE_BYTES + 1}), Outcome.BESIDE),
        (seen(right=False), Outcome.WRONG),
        (seen(code=None, right=None), Outcome.WAITING),
        (seen(code=1, right=None), Outcome.FAILED),
    ],
)
def test_the_outcome_of_two_ranks(other: Rank, outcome: Outcome) -> None:
    assert verdict.judge([GOOD, other], PAYLOAD) == outcome
    assert verdict.judge([other, GOOD], PAYLOAD) == outcome


def test_a_rank_that_failed_explains_one_that_waits() -> None:
    ranks = [seen(code=None, right=None), seen(code=1, right=None)]
    assert verdict.judge(ranks, PAYLOAD) == Outcome.FAILED


def test_the_lines_that_tell_something() -> None:
    retries = "".join(
        "vm:5:5 [0] NCCL INFO socketPollConnect: connect to 10.88.0.1<46615> returned No route to host, "
        f"retrying ({number}/34) after sleep for {number}00 msec\n"
        for number in (1, 2)
    )
    warning = (
        "[2026-11-30 17:53:37] vm:5:5 [0] bootstrap.cc:114 NCCL WARN Bootstrap : no socket interface "
        "found\n"
    )
    assert verdict.telling(LOG + LOG + retries + warning) == [
        "NCCL INFO Bootstrap: Using fab0:10.77.0.1<0>",
        "NCCL INFO NET/Socket : Using [0]fab0:10.77.0.1<0>",
        "NCCL INFO Using network Socket",
        "NCCL INFO socketPollConnect: connect to 10.88.0.1<46615> returned No route to host, "
        "retrying (2/34) after sleep for 200 msec",
        "bootstrap.cc:114 NCCL WARN Bootstrap : no socket interface found",
    ]


def test_bytes_by_interface() -> None:
    links = [
        {"ifname": "lo", "stats64": {"rx": {"bytes": 1}, "tx": {"bytes": 2}}},
        {"ifname": "fab0", "link_index": 3, "stats64": {"rx": {"bytes": 3}, "tx": {"bytes": 4}}},
    ]
    assert verdict.counters(links) == {"lo": 2, "fab0": 4}


def test_the_addresses_of_a_port() -> None:
    assert OWN_NAMES[1].addresses(2) == ["10.77.0.2/24"]
    assert IPV6[1].addresses(1) == ["fd00:77::1/64"]


def test_the_table_names_what_was_not_expected() -> None:
    rank = {"net": ["fab0:10.77.0.1"], "sent": {"lo": 900, "fab0": 2_000_000}}
    row = {"name": "unset", "seconds": 5.6, "outcome": "planned", "expected": "beside the plan"}
    assert verdict.table([{**row, "ranks": {"node0": rank, "node1": {**rank, "net": []}}}]) == (
        "CASE   NCCL USED           MB SENT  S  OUTCOME\n"
        "unset  fab0:10.77.0.1 | -  fab0 4   6  planned  expected: beside the plan"
    )


PLAN = {
    "transport": "socket",
    "network": {"cidr": "10.77.0.0/24", "family": 4},
    "hosts": {
        name: {"address": f"10.77.0.{number}", "interface": f"fab{number - 1}"}
        for number, name in enumerate(hosts.HOSTS, start=1)
    },
}


def test_a_name_that_is_right_on_one_host_alone_is_refused() -> None:
    assert hosts.refusal(PLAN, {}) is None
    assert hosts.refusal(PLAN, {"NCCL_SOCKET_IFNAME": "=fab0"}) == (
        "node1: the environment sets NCCL_SOCKET_IFNAME='=fab0', but the plan needs '=fab1' so that every "
        "layer uses the same wire; remove the override, or pin interconnect_network or "
        "interconnect_interface if the plan is wrong"
    )


RECORD = json.loads((ROOT / "bench" / "gpu" / "results.json").read_text())


def test_the_record_has_each_case_as_it_is_expected_now() -> None:
    recorded = [(each["name"], each["about"], each["outcome"]) for each in RECORD["cases"]]
    assert recorded == [(case.name, case.about, case.expected) for case in CASES]


@pytest.mark.parametrize("each", RECORD["cases"], ids=lambda each: each["name"])
def test_samewire_refuses_what_changes_its_own_variables(each: dict[str, Any]) -> None:
    assert (each["refused"] is not None) == bool(each["changes"])


def test_the_table_of_the_documentation_is_the_record() -> None:
    assert verdict.table(RECORD["cases"]) in (ROOT / "docs" / "evidence.md").read_text()
