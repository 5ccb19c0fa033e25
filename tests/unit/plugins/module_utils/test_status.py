# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The state of a cluster: one word, its reason, and each difference as a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _environment, _status
from tests.unit.observed import RECORD, STARTING, container, node, server
from tests.unit.plans import plan

AT = "2026-11-30T13:02:05Z"
DOWN = {"unreachable": "Connection refused"}


def found(
    head: dict[str, Any] | None = None, worker: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """Return the status of the pair."""
    known: dict[str, Any] = {"plan": plan(), "record": RECORD, **more}
    hosts = {"spark0": head or node("spark0"), "spark1": worker or node("spark1")}
    return _status.status(_status.Cluster("pair", "spark0", hosts, **known), AT)


def problems(status: dict[str, Any]) -> list[str]:
    return [problem["message"] for problem in status["problems"]]


def both(**more: Any) -> dict[str, Any]:
    """Return the containers of the head, equal but for their names."""
    return {"ray": container(**more), "vllm": container(**more)}


def one(**more: Any) -> dict[str, Any]:
    return {"ray": container(**more), "vllm": None}


def test_serving() -> None:
    status = found()
    assert (status["verdict"], status["reason"]) == (
        "serving",
        "vLLM answers, and Ray has 2 nodes, as planned",
    )
    assert (status["problems"], status["notes"]) == ([], [])
    assert (status["schema"], status["cluster"], status["observed_at"]) == (
        "samewire.status/1",
        "pair",
        AT,
    )
    assert status["ray"] == {
        "planned": ["192.168.200.12", "192.168.200.13"],
        "connected": ["192.168.200.12", "192.168.200.13"],
    }
    assert status["vllm"] == {"url": "http://10.1.230.180:8000", **server()}
    assert status["proven"]["proven_at"] == "2026-11-30T12:00:00Z"
    spark1 = status["hosts"]["spark1"]
    assert (spark1["role"], spark1["reachable"]) == ("worker", True)
    assert spark1["planned"] == {"address": "192.168.200.13", "interface": "enp1s0f1np1"}
    assert list(spark1["containers"]) == ["ray"]
    assert spark1["containers"]["ray"]["state"] == "running"


@pytest.mark.parametrize(
    ("head", "worker", "verdict", "reason"),
    [
        (
            node("spark0", containers={"ray": None, "vllm": None}, server=None, members=[]),
            node("spark1", containers={"ray": None, "vllm": None}),
            "absent",
            "no host has a container of it; run samewire deploy",
        ),
        (
            node("spark0", containers=both(status="exited"), server=None, members=[]),
            node("spark1", containers=one(status="exited")),
            "stopped",
            "all its containers are stopped; samewire start brings them back",
        ),
        (
            node("spark0", server=STARTING),
            node("spark1"),
            "starting",
            "vLLM: loading weights 1/2, for 125 s",
        ),
        # Nodes join while a start goes on.
        (
            node("spark0", server=STARTING, members=["192.168.200.12"]),
            node("spark1"),
            "starting",
            "vLLM: loading weights 1/2, for 125 s",
        ),
        (
            node("spark0", server=STARTING, containers=both(age=2000.0)),
            node("spark1"),
            "degraded",
            "spark0: vLLM is not healthy (Connection refused), at: loading weights 1/2; samewire diagnose "
            "names the cause",
        ),
        (
            node(
                "spark0",
                containers={"ray": container(), "vllm": container(status="restarting", restarts=7)},
                server=None,
            ),
            node("spark1"),
            "restart loop",
            "spark0: container pair-vllm was restarted 7 times, last exit code 0, and goes on so; samewire "
            "diagnose names the cause",
        ),
        # It runs just now, but ended three times shortly before.
        (
            node("spark0", server=STARTING),
            node("spark1", containers=one(restarts=3, age=20.0, exit_code=1)),
            "restart loop",
            "spark1: container pair-ray was restarted 3 times, last exit code 1, and goes on so; samewire "
            "diagnose names the cause",
        ),
        (
            node(
                "spark0",
                containers={
                    "ray": container(),
                    "vllm": container(restarts=9, exit_code=1, gave_up=True),
                },
                server=None,
            ),
            node("spark1"),
            "restart loop",
            "spark0: container pair-vllm was restarted 9 times, last exit code 1, and is left alone now; "
            "samewire diagnose names the cause, samewire restart begins anew",
        ),
        (
            node(
                "spark0",
                containers={
                    "ray": container(),
                    "vllm": container(restarts=2, exit_code=1, pause="start 3 of 10, in 10 s"),
                },
                server=STARTING,
            ),
            node("spark1"),
            "restart loop",
            "spark0: container pair-vllm was restarted 2 times, last exit code 1, and waits for start 3 of "
            "10, in 10 s; samewire diagnose names the cause",
        ),
        (
            DOWN,
            node("spark1"),
            "unreachable",
            "spark0: cannot be looked at: Connection refused; see whether it is up, and check ansible_host, "
            "ansible_user and its key",
        ),
        (
            node(
                "spark0",
                docker={"version": None, "reason": "/var/run/docker.sock does not exist"},
                server=None,
            ),
            node("spark1"),
            "unreachable",
            "spark0: cannot be looked at: /var/run/docker.sock does not exist; start Docker on it",
        ),
        (
            DOWN,
            DOWN,
            "unreachable",
            "spark0: cannot be looked at: Connection refused; see whether it is up, and check ansible_host, "
            "ansible_user and its key",
        ),
        # It serves, but what a host that does not answer does is not known.
        (
            node("spark0"),
            DOWN,
            "degraded",
            "spark1: cannot be looked at: Connection refused; see whether it is up, and check ansible_host, "
            "ansible_user and its key",
        ),
        (
            node("spark0", server=STARTING),
            node("spark1", containers=one(status="exited")),
            "degraded",
            "spark1: container pair-ray is exited, expected running; run samewire start",
        ),
    ],
    ids=[
        *(
            "absent",
            "stopped",
            "starting",
            "joining",
            "too long",
            "restarting",
            "loop",
            "gave up",
            "pauses",
        ),
        *("head down", "no docker", "all down", "worker down", "worker stopped"),
    ],
)
def test_verdicts(head: dict[str, Any], worker: dict[str, Any], verdict: str, reason: str) -> None:
    status = found(head, worker)
    assert (status["verdict"], status["reason"]) == (verdict, reason)
    assert verdict in _status.VERDICTS


def test_a_server_without_a_plan_serves_but_nothing_more_is_said() -> None:
    status = found(plan={}, record={})
    assert (status["verdict"], status["reason"]) == (
        "serving",
        "vLLM answers; this controller has no plan to hold the rest against",
    )
    assert status["notes"] == [
        "this controller has no plan of the cluster, so addresses and variables were not compared"
    ]
    assert status["proven"] is None


@pytest.mark.parametrize(
    ("head", "worker", "expected"),
    [
        (
            node("spark0"),
            node("spark1", containers={"ray": None, "vllm": None}),
            "spark1: has no container pair-ray, expected the one of the deployment; run samewire deploy",
        ),
        (
            node("spark0"),
            node("spark1", containers=one(own=False, label="other")),
            "spark1: container pair-ray is not Samewire's: expected the label samewire.cluster=pair, got one "
            "of cluster other; rename the cluster, or rename or remove that container",
        ),
        (
            node("spark0"),
            node("spark1", containers=one(own=False, label=None)),
            "spark1: container pair-ray is not Samewire's: expected the label samewire.cluster=pair, got one "
            "without that label; rename the cluster, or rename or remove that container",
        ),
        (
            node("spark0"),
            node("spark1", containers=one(status="exited")),
            "spark1: container pair-ray is exited, expected running; run samewire start",
        ),
        (
            node("spark0"),
            node("spark1", containers=one(health="unhealthy")),
            "spark1: container pair-ray fails its health check, expected healthy; samewire diagnose names "
            "the cause",
        ),
        (
            node("spark0"),
            node("spark1", containers={"ray": container(), "vllm": container()}),
            "spark1: runs container pair-vllm, expected it on spark0 alone; run samewire deploy, or remove "
            "it",
        ),
        (
            node("spark0"),
            node("spark1", containers=one(environment_differs=["NCCL_NET", "VLLM_HOST_IP"])),
            "spark1: container pair-ray has another NCCL_NET, VLLM_HOST_IP than the plan; run samewire "
            "deploy",
        ),
        (
            node("spark0"),
            node("spark1", containers=one(digests=["sha256:bad"])),
            "spark1: container pair-ray runs image vllm/vllm-openai:v0.32.0 with another digest than was "
            "proven (sha256:c4b8); run samewire deploy",
        ),
        (
            node("spark0"),
            node("spark1", addresses={"enp1s0f1np1": ["192.168.200.99"], "lo": ["127.0.0.1"]}),
            "spark1: the interconnect address has moved: expected 192.168.200.13 on enp1s0f1np1, got "
            "192.168.200.99 there; give it back, or run samewire deploy for a new plan",
        ),
        (
            node("spark0"),
            node("spark1", addresses={"eth9": ["192.168.200.13"]}),
            "spark1: the interconnect address has moved: expected 192.168.200.13 on enp1s0f1np1, got it on "
            "eth9; give it back, or run samewire deploy for a new plan",
        ),
        (
            node("spark0"),
            node("spark1", addresses={"lo": ["127.0.0.1"]}),
            "spark1: the interconnect address has moved: expected 192.168.200.13 on enp1s0f1np1, got none "
            "there; give it back, or run samewire deploy for a new plan",
        ),
        (
            node("spark0", members=["192.168.200.12"]),
            node("spark1"),
            "spark1: is not connected to Ray's head from 192.168.200.13, as planned; see docker logs "
            "pair-ray on spark1",
        ),
        (
            node(
                "spark0",
                members=["127.0.0.1", "192.168.200.12", "192.168.200.13", "192.168.200.77"],
            ),
            node("spark1"),
            "spark0: 192.168.200.77 is connected to Ray's head, but not in the plan; stop Ray there",
        ),
        (
            node("spark0", server=server(models=["other"])),
            node("spark1"),
            "spark0: vLLM serves other, expected tiny; run samewire deploy",
        ),
    ],
)
def test_each_difference_is_one_sentence(
    head: dict[str, Any], worker: dict[str, Any], expected: str
) -> None:
    status = found(head, worker)
    assert problems(status) == [expected]
    assert (status["verdict"], status["reason"]) == ("degraded", expected)


def test_hosts_that_only_the_plan_or_the_inventory_knows() -> None:
    other = plan()
    other["hosts"]["spark2"] = other["hosts"].pop("spark1")
    status = found(plan=other)
    assert "spark1: is not in the plan of the deployment; run samewire deploy" in problems(status)
    assert (
        "spark2: is in the plan of the deployment, but not in the inventory; run samewire deploy"
        in problems(status)
    )


def test_restarts_that_healed_are_noted() -> None:
    status = found(worker=node("spark1", containers=one(restarts=1, age=4000.0)))
    assert status["verdict"] == "serving"
    assert status["notes"] == [
        "spark1: container pair-ray was restarted 1 time since it was started, last 1 h 6 min ago"
    ]


def test_what_a_change_that_did_not_end_has_kept_is_noted() -> None:
    status = found(node("spark0", kept=["pair-ray-before", "pair-vllm-before"]))
    assert status["verdict"] == "serving"
    assert status["notes"] == [
        "spark0: pair-ray-before and pair-vllm-before from before a change that did not end; run samewire "
        "deploy"
    ]


@pytest.mark.parametrize("stands", [True, None])
def test_a_firewall_that_stands_or_is_not_asked_for_is_no_problem(stands: bool | None) -> None:
    assert found(node("spark0", firewall=stands))["problems"] == []


def test_a_firewall_that_is_gone_is_a_problem() -> None:
    status = found(worker=node("spark1", firewall=False))
    assert (status["verdict"], status["reason"]) == (
        "degraded",
        "spark1: the firewall of the cluster is not loaded, expected its table in nftables; run "
        "samewire deploy",
    )


def test_a_server_that_healed_loops_no_more() -> None:
    status = found(node("spark0", containers={"ray": container(), "vllm": container(restarts=5)}))
    assert (status["verdict"], status["problems"]) == ("serving", [])
    assert status["hosts"]["spark0"]["containers"]["vllm"]["state"] == "running"


def test_while_all_is_stopped_a_stopped_container_is_no_problem() -> None:
    status = found(
        node("spark0", containers=both(status="exited"), server=None, members=[]),
        node("spark1", containers=one(status="exited")),
    )
    assert status["problems"] == []


def test_an_observation() -> None:
    assert _status.observation({"node": node("spark1")}) == node("spark1")
    ssh = {"unreachable": True, "msg": "Failed to connect to the host via ssh: No route to host"}
    assert _status.observation(ssh) == {"unreachable": "No route to host"}
    assert _status.observation({"failed": True, "msg": "no python"}) == {"unreachable": "no python"}
    assert _status.observation({}) == {"unreachable": "no answer"}


def test_planned_variables_leave_out_what_the_user_has_overridden() -> None:
    known = plan()
    assert _status.planned_variables(known, "spark1", "spark0", 6379) == (
        _environment.planned_environment(known, "spark1", "spark0", 6379)
    )
    known["hosts"]["spark1"]["overrides"] = [{"variable": "NCCL_NET", "value": "x"}]
    assert "NCCL_NET" not in _status.planned_variables(known, "spark1", "spark0", 6379)
    assert _status.planned_variables({}, "spark1", "spark0", 6379) == {}


def test_report() -> None:
    status = found(
        worker=node(
            "spark1", containers=one(restarts=1, age=4000.0), gpus={"list": [], "reason": "x"}
        )
    )
    assert _status.report(status) == [
        "pair: serving: vLLM answers, and Ray has 2 nodes, as planned",
        "spark0 (head): ray running for 2 min 5 s, vllm running for 2 min 5 s, planned 192.168.200.12 on "
        "enp1s0f0np0, 1 GPU, 1.0 of 79.6 GiB used",
        "spark1 (worker): ray running for 1 h 6 min, planned 192.168.200.13 on enp1s0f1np1, GPU memory "
        "unknown: x",
        "vLLM: tiny; 1 running, 0 waiting; 9 requests done; 144 tokens generated; last request "
        "2026-11-30T13:01:59Z (200)",
        "Note: spark1: container pair-ray was restarted 1 time since it was started, last 1 h 6 min ago",
    ]
    # What is the reason is not said twice.
    unreachable = (
        "spark0: cannot be looked at: Connection refused; see whether it is up, and check ansible_host, "
        "ansible_user and its key"
    )
    stopped = node("spark1", containers=one(status="exited"))
    assert _status.report(found(DOWN, stopped)) == [
        f"pair: unreachable: {unreachable}",
        "spark0 (head): cannot be looked at: Connection refused",
        "spark1 (worker): ray stopped, planned 192.168.200.13 on enp1s0f1np1, 1 GPU, 1.0 of 79.6 GiB used",
    ]
    assert _status.report(found(worker=node("spark1", containers=one(status="exited"))))[-1] == (
        "vLLM: tiny; 1 running, 0 waiting; 9 requests done; 144 tokens generated; last request "
        "2026-11-30T13:01:59Z (200)"
    )


def test_a_server_as_one_line() -> None:
    assert _status.server_line(STARTING) == (
        "not healthy (Connection refused), at: loading weights 1/2"
    )
    bare = server(models=[], running=None, last_request=None)
    assert _status.server_line(bare) == "models unknown; no request in its log"


def test_gpus_that_share_the_memory_of_the_host() -> None:
    gpu = {"index": 0, "name": "GB10", "memory_used_mib": None, "memory_total_mib": None}
    assert _status.gpu_line({"gpus": {"list": [gpu, gpu], "reason": None}}) == (
        "2 GPUs that share the host's memory"
    )
    assert _status.gpu_line({"gpus": {"list": [], "reason": None}}) == "GPU memory unknown: no GPU"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59, "59 s"), (60, "1 min"), (3725, "1 h 2 min"), (90_000, "1 d 1 h")],
)
def test_duration(seconds: float, text: str) -> None:
    assert _status.duration(seconds) == text


def split(**more: Any) -> dict[str, Any]:
    """Return the containers of a host of a cluster without Ray."""
    return {"ray": None, "vllm": container(executor="mp", **more)}


JOINED = ["192.168.200.13"]


def test_without_ray_every_host_has_a_part_of_the_server() -> None:
    head = node("spark0", containers=split(), members=JOINED)
    status = found(head, node("spark1", containers=split(), server=None))
    assert (status["verdict"], status["reason"], status["executor"]) == (
        "serving",
        "vLLM answers, and its parts run on 2 hosts, as planned",
        "mp",
    )
    assert [list(own["containers"]) for own in status["hosts"].values()] == [["vllm"], ["vllm"]]


def test_without_ray_a_missing_part_a_lone_one_and_a_ray_are_told() -> None:
    head = node("spark0", containers=split(), members=["192.168.200.77"])
    worker = {"ray": container(), "vllm": None}
    assert problems(found(head, node("spark1", containers=worker))) == [
        "spark1: has no container pair-vllm, expected the one of the deployment; run samewire deploy",
        "spark1: runs container pair-ray, expected none, since vLLM runs without Ray; run samewire deploy, "
        "or remove it",
        "spark1: is not connected to the head's vLLM from 192.168.200.13, as planned; see docker logs "
        "pair-vllm on spark1",
        "spark0: 192.168.200.77 is connected to the head's vLLM, but not in the plan; stop vLLM there",
    ]
