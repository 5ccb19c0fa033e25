# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Whom the kernel killed: only processes of the cluster's containers, only of late."""

from __future__ import annotations

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _diagnosis, _kernel_log

OURS = "c29f5bff58bb" * 5 + "aaaa"
OTHERS = "0335059ee591" * 5 + "bbbb"


def _kill(moment: int, group: str, pid: int) -> list[str]:
    return [
        f"6,901,{moment},-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,"
        f"oom_memcg=/docker,task_memcg={group},task=ray::RayWorkerP,pid={pid},uid=0\n SUBSYSTEM=x\n",
        f"3,902,{moment + 9},-;Memory cgroup out of memory: Killed process {pid} (ray::RayWorkerP) "
        "total-vm:6497420kB, anon-rss:3863892kB\n",
    ]


@pytest.mark.parametrize("group", [f"/docker/{OURS}", f"/system.slice/docker-{OURS}.scope"])
def test_a_kill_in_a_container(group: str) -> None:
    records = ["6,900,11834000000,-;eth0: link up\n", *_kill(11834765367, group, 25965)]
    kept = _kernel_log.kills(records, [OURS])
    assert kept[0].startswith("[11834.765367] oom-kill:constraint=CONSTRAINT_MEMCG")
    assert kept[1].startswith(
        "[11834.765376] Memory cgroup out of memory: Killed process 25965 (ray::RayWorkerP)"
    )
    diagnosis = _diagnosis.Diagnosis()
    diagnosis.read("node0/kernel.log", ["\n".join(kept).encode()])
    assert [each.rule.id for each in diagnosis.findings()] == ["unified_memory_exhausted"]


def test_kills_of_others_and_of_before_are_left_out() -> None:
    records = [
        *_kill(1_000_000, f"/docker/{OURS}", 1),
        *_kill(9_000_000, f"/docker/{OTHERS}", 2),
        *_kill(9_500_000, "/user.slice", 3),
    ]
    assert _kernel_log.kills(records, [OURS], since=5) == []


@pytest.mark.parametrize("record", ["", "no record", "6,900;short", "6,900,soon,-;text", ";"])
def test_what_is_no_record_is_passed_over(record: str) -> None:
    assert _kernel_log.kills([record], [OURS]) == []
