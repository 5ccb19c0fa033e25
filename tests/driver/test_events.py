# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Job events of real runs, reduced to phases and findings."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from samewire.events import Event, Phase, Progress, advance

Runs = Callable[[str], Progress]

FINDINGS = {
    "done": (),
    "refused": (
        "node1 has 0 GPUs and the plan needs 1: install its driver, or take node1 out of the "
        "inventory.",
        "node1 has no /models/tiny: copy the model there.",
    ),
    # The gate's own failure was rescued; what the rescue says is the finding.
    "failed": (
        "node0: Ray registered 10.0.0.1 instead of 192.168.200.12: stop all Ray containers and "
        "deploy again.",
    ),
    "unreachable": (
        "node2 cannot be reached: expected a login over SSH, got "
        '"ssh: connect to host 127.0.0.1 port 1: Connection refused"; check ansible_host, '
        "ansible_user and the key of node2 in the inventory.",
    ),
    "unreachable_checked": (
        "node2 is unreachable at 127.0.0.1: check ansible_host in the inventory.",
    ),
    "unreachable_silent": (
        "node2 cannot be reached: expected a login over SSH, got "
        '"ssh: connect to host 127.0.0.1 port 1: Connection refused"; check ansible_host, '
        "ansible_user and the key of node2 in the inventory.",
    ),
    "argument_spec": tuple(
        f"{host}: role server does not accept its variables: argument 'server_port' is of type "
        "str and we were unable to convert to int: \"'many'\" cannot be converted to an int; "
        "correct them in the inventory."
        for host in ("node0", "node1")
    ),
    "task_failed": tuple(
        "node0: Pull the image: non-zero return code: "
        f"ls: cannot access '/no/such/{item}': No such file or directory"
        for item in "ab"
    ),
    "secret": ("node0: Hand over a secret: its output is hidden, since it holds a secret",),
}
REFUSED = {"refused", "unreachable_checked", "argument_spec", "broken"}
UNREACHABLE = {"unreachable", "unreachable_checked", "unreachable_silent"}


@pytest.mark.parametrize("run", FINDINGS)
def test_findings(run: str, progress_of: Runs) -> None:
    # Hosts answer in any order.
    assert sorted(progress_of(run).findings) == sorted(FINDINGS[run])


@pytest.mark.parametrize("run", [*FINDINGS, "broken"])
def test_refused_and_unreachable(run: str, progress_of: Runs) -> None:
    progress = progress_of(run)
    assert progress.unreachable == (run in UNREACHABLE)
    if run not in UNREACHABLE:
        assert progress.refused == (run in REFUSED)


def test_what_ansible_says_itself(progress_of: Runs) -> None:
    (complaint,) = progress_of("broken").findings
    assert complaint.startswith("the role 'not_there' was not found in /data/roles:")


def test_phases(progress_of: Runs) -> None:
    progress = progress_of("done")
    assert [(p.title, p.hosts, p.changed, p.down) for p in progress.phases] == [
        ("Check the hosts", ("node0", "node1"), 0, frozenset()),
        # The task with no_log is counted too.
        ("Start the containers", ("node0", "node1"), 6, frozenset()),
    ]
    assert all(phase.seconds > 0 for phase in progress.phases)
    assert progress.artifacts["samewire_record"]["cluster"] == "example"


def test_a_play_without_tasks_is_no_phase(progress_of: Runs) -> None:
    assert [phase.title for phase in progress_of("empty_play").phases] == ["Start the containers"]


def test_a_rescued_failure_is_none(progress_of: Runs) -> None:
    (phase,) = progress_of("rescued").phases
    assert (phase.down, progress_of("rescued").findings) == (frozenset(), ())


@pytest.mark.parametrize(
    ("said", "steps"),
    [
        ("node0: loading weights 12/39, 01:20 left (40 s)\n", 1),
        ("Using /etc/ansible/ansible.cfg as config file", 0),
    ],
)
def test_what_a_long_task_says_of_itself(said: str, steps: int) -> None:
    progress = Progress(phases=(Phase("Start vLLM", 0.0, hosts=("node0",), task="Wait"),))
    phase = advance(progress, Event("verbose", 100.0, said, {})).phases[-1]
    assert phase.steps == (said.strip(),) * steps
    assert [work.since for work in phase.working.values()] == [60.0] * steps


def test_a_host_works_until_it_is_through_with_the_task() -> None:
    def event(name: str, created: float, host: str = "") -> Event:
        return Event(name, created, "", {"host": host, "task": "Pull", "name": "Play", "res": {}})

    progress = Progress()
    for each in (
        event("playbook_on_play_start", 1),
        event("playbook_on_task_start", 2),
        event("runner_on_start", 3, "node0"),
        event("runner_on_start", 4, "node1"),
        Event("verbose", 5.0, "node1: pulling the image, 1.0 of 4.0 GB (1 s)", {}),
    ):
        progress = advance(progress, each)
    working = progress.phases[-1].working
    assert {host: (work.task, work.since) for host, work in working.items()} == {
        "node0": ("Pull", 3),
        "node1": ("Pull", 4),
    }
    assert working["node1"].step is not None
    assert working["node1"].step.fraction == 0.25
    for name in (
        "runner_on_ok",
        "runner_on_skipped",
        "runner_on_failed",
        "runner_on_unreachable",
    ):
        assert set(advance(progress, event(name, 6, "node1")).phases[-1].working) == {"node0"}
    assert not advance(progress, event("playbook_on_task_start", 6)).phases[-1].working


@pytest.mark.parametrize(
    ("message", "notes"),
    [
        (["the image sets A='1'; the containers get '2'"], 1),
        (["node0: the image sets A='1'; the containers get '2'"], 1),
        ({"url": "http://10.0.0.1:8000"}, 0),
        ("Hello", 0),
    ],
)
def test_notes_of_the_playbook(message: object, notes: int) -> None:
    progress = Progress(phases=(Phase("Start the Ray head", 0.0, hosts=("node0",)),))
    data = {"host": "node0", "task_action": "ansible.builtin.debug", "res": {"msg": message}}
    phase = advance(progress, Event("runner_on_ok", 1.0, "", data)).phases[-1]
    assert phase.notes == ("node0: the image sets A='1'; the containers get '2'",) * notes
