# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The playbook verify_wire, run by Ansible on hosts that it reaches by ssh."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest

from tests.netns.cluster import Cluster, cluster, sshd

VERIFY = ("playbook", "samewire.vllm.verify_wire")


@pytest.fixture(scope="module")
def three(can_make_namespaces: None) -> Iterator[Cluster]:
    if sshd() is None:
        pytest.skip("openssh-server is not installed")
    with cluster(3) as each:
        yield each


def listening(of: Cluster) -> list[str]:
    """What listens on the fabric of each host."""
    return [
        subprocess.run(
            ["ip", "netns", "exec", of.segment.full(name), "ss", "-Hltn", f"src {address}"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for name, address in of.segment.hosts.items()
    ]


def test_it_plans_with_the_overrides_and_proves(three: Cluster) -> None:
    done = three.run(*VERIFY, "-e", '{"ray_node_environment": {"NCCL_DEBUG": "INFO"}}')
    assert done.returncode == 0, done.stdout
    assert "NCCL_DEBUG" in done.stdout
    assert "unreachable=0    failed=0" in done.stdout
    assert "Ask on the host itself" not in done.stdout
    assert listening(three) == ["", "", ""]


def test_a_broken_wire_is_refused_and_nothing_stays(three: Cluster, firewall: None) -> None:
    rule = "INPUT -p tcp --syn -s 10.77.0.1 -d 10.77.0.3 -j DROP"
    three.segment.iptables("node2", f"-A {rule}")
    try:
        done = three.run(*VERIFY)
    finally:
        three.segment.iptables("node2", f"-D {rule}")
    assert done.returncode == 2
    assert "node0 to node2: TCP to 10.77.0.3 ports " in done.stdout
    assert (
        "and 10002 is not answered, expected a connection (the other direction works); most likely a "
        "firewall: allow TCP from 10.77.0.0/24 on node2"
    ) in done.stdout
    assert listening(three) == ["", "", ""]


def test_a_desired_state_that_cannot_be_meant_is_refused_first(three: Cluster) -> None:
    done = three.run(*VERIFY, "-e", '{"vllm_server_port": "many"}')
    assert done.returncode == 2
    assert (
        "node0: variable vllm_server_port is 'many', expected int; correct it in the inventory"
    ) in done.stdout
    assert "Reach the host" not in done.stdout


def test_it_needs_no_pipelining(three: Cluster) -> None:
    done = three.run(*VERIFY, "-e", '{"ansible_pipelining": false}')
    assert done.returncode == 0, done.stdout


def test_playbooks_follow_each_other_in_one_run(three: Cluster) -> None:
    names = ("plan", "verify_wire", "verify_wire")
    several = [{"ansible.builtin.import_playbook": f"samewire.vllm.{name}"} for name in names]
    (three.folder / "several.yml").write_text(json.dumps(several))
    done = three.run("playbook", "several.yml")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("Have all hosts open connections to all others") == 2
    wrong = three.run("playbook", "several.yml", "-e", '{"vllm_server_port": "many"}')
    assert "variable vllm_server_port is 'many', expected int" in wrong.stdout
    assert "Have all hosts open connections to all others" not in wrong.stdout
