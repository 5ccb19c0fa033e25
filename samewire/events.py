# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""From the job events of ansible-runner to phases and findings; pure, nothing is read or printed.

The events are those of its awx_display callback: one mapping an event, with "event", "created"
(ISO 8601), "stdout" and "event_data".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePath
from typing import Any

from samewire import steps

# Roles that only look and judge; every other role judges in its own preflight.yml.
CHECKING_ROLES = frozenset({"cluster", "interconnect", "wire"})
SPOKEN_ACTIONS = frozenset({"fail", "assert"})
ARGUMENT_SPEC = "validate_argument_spec"
UNREACHABLE_EVENT = "runner_on_unreachable"
# After these a host has nothing more to do for a task.
THROUGH = frozenset(
    {"runner_on_ok", "runner_on_skipped", "runner_on_failed", "runner_on_unreachable"}
)
ANSI_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
CENSORED = "its output is hidden, since it holds a secret"


@dataclass(frozen=True)
class Event:
    """One job event, reduced to what is shown."""

    name: str
    created: float
    """Seconds since the epoch."""
    stdout: str
    data: Mapping[str, Any]

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Event:
        """Read a job event as ansible-runner hands it to its event handler."""
        return cls(
            name=raw["event"],
            created=datetime.fromisoformat(raw["created"]).timestamp(),
            stdout=ANSI_COLOUR.sub("", raw.get("stdout") or ""),
            data=raw.get("event_data") or {},
        )

    @property
    def result(self) -> Mapping[str, Any]:
        result = self.data.get("res")
        return result if isinstance(result, Mapping) else {}

    @property
    def host(self) -> str:
        return str(self.data.get("host", ""))

    @property
    def task(self) -> str:
        return str(self.data.get("task", ""))

    @property
    def changed(self) -> bool:
        # The result of a task with no_log says nothing; its printed line does.
        if "changed" in self.result:
            return bool(self.result["changed"])
        return "changed: [" in self.stdout


@dataclass(frozen=True)
class Work:
    """What a host does at present. since: when it began, in seconds since the epoch."""

    task: str
    since: float
    step: steps.Step | None = None


@dataclass(frozen=True)
class Phase:
    """One play."""

    title: str
    started: float
    ended: float | None = None
    hosts: tuple[str, ...] = ()
    task: str = ""
    """What runs, as "host: task" while a task is retried, else the task."""
    changed: int = 0
    """Tasks that changed something, counted per host."""
    working: Mapping[str, Work] = field(default_factory=dict)
    """What each host does that is not through with the present task."""
    steps: tuple[str, ...] = ()
    """What a long task says of itself while it runs, as "node0: loading weights 12/39 (40 s)"."""
    notes: tuple[str, ...] = ()
    """What the playbook wants a person to know, a sentence each."""
    down: frozenset[str] = frozenset()
    """Hosts that failed in this phase and were not rescued."""

    @property
    def seconds(self) -> float:
        """How long an ended phase took; 0 while it runs."""
        return self.ended - self.started if self.ended is not None else 0.0


@dataclass(frozen=True)
class Failure:
    """A task that failed on a host, or a host that could not be reached."""

    host: str
    phase: int
    lines: tuple[str, ...]
    checking: bool
    """The task only judges: nothing was changed by it."""
    unreachable: bool


@dataclass(frozen=True)
class Progress:
    """All that is known of a run so far."""

    phases: tuple[Phase, ...] = ()
    expected: Mapping[str, float] = field(default_factory=dict)
    """How many seconds each phase took the last time that it changed something, by title."""
    failures: tuple[Failure, ...] = ()
    complaints: tuple[str, ...] = ()
    """What Ansible itself says against the run, outside of any task."""
    fallen: frozenset[str] = frozenset()
    """Hosts that ended failed or unreachable, as the statistics at the end of the run say."""
    artifacts: Mapping[str, Any] = field(default_factory=dict)
    """What the playbook left with set_stats."""

    @property
    def changed(self) -> int:
        return sum(phase.changed for phase in self.phases)

    @property
    def decisive(self) -> tuple[Failure, ...]:
        """Return the last failure of each host that ended failed; earlier ones were rescued."""
        last = {failure.host: failure for failure in self.failures}
        if self.fallen:
            return tuple(failure for host, failure in last.items() if host in self.fallen)
        # Without statistics, or where they blame nobody, what was not rescued ended the run.
        return tuple(f for host, f in last.items() if host in self.phases[f.phase].down)

    @property
    def refused(self) -> bool:
        """Whether the run ended in a check, or before any task, while no host had been changed."""
        checked = bool(self.decisive) and all(failure.checking for failure in self.decisive)
        return self.changed == 0 and (checked or not self.phases)

    @property
    def unreachable(self) -> bool:
        """Whether the run ended with a host that did not answer, also where a check says so."""
        return bool(self.decisive) and any(failure.unreachable for failure in self.failures)

    @property
    def findings(self) -> tuple[str, ...]:
        """Return what went wrong, one sentence a problem, in order of time."""
        said = dict.fromkeys(line for failure in self.decisive for line in failure.lines)
        return tuple(said) or self.complaints


def advance(progress: Progress, event: Event) -> Progress:
    """Return the progress after one more event."""
    if event.name in THROUGH and progress.phases:
        working = progress.phases[-1].working
        left = {host: work for host, work in working.items() if host != event.host}
        progress = _in_phase(progress, working=left)
    match event.name:
        case "playbook_on_play_start":
            phase = Phase(str(event.data.get("name", "")), event.created)
            return replace(progress, phases=(*_closed(progress.phases, event.created), phase))
        case "playbook_on_task_start" | "playbook_on_handler_task_start":
            return _in_phase(progress, task=event.task, working={})
        case "runner_on_start":
            phase = progress.phases[-1]
            # A host that runs another task after its failure was rescued.
            hosts = tuple(sorted({*phase.hosts, event.host}))
            working = {**phase.working, event.host: Work(event.task, event.created)}
            down = phase.down - {event.host}
            return _in_phase(progress, hosts=hosts, down=down, working=working)
        case "runner_retry":
            result = event.result
            tried = f"{event.host}: {event.task} (try {result['attempts']} of {result['retries']})"
            return _in_phase(progress, task=tried)
        case "runner_on_ok":
            phase = progress.phases[-1]
            changed = phase.changed + event.changed
            return _in_phase(progress, changed=changed, notes=(*phase.notes, *_notes(event)))
        case "runner_on_failed" | "runner_on_unreachable" if not event.data.get("ignore_errors"):
            failure = _failure(event, phase=len(progress.phases) - 1)
            progress = _in_phase(progress, down=progress.phases[-1].down | {event.host})
            return replace(progress, failures=(*progress.failures, failure))
        case "playbook_on_stats":
            progress = replace(
                progress,
                phases=_closed(progress.phases, event.created),
                fallen=frozenset({*event.data["failures"], *event.data["dark"]}),
                artifacts=event.data.get("artifact_data") or {},
            )
            return replace(progress, phases=_blamed(progress))
        case "verbose" | "error" if complaint := _complaint(event.stdout):
            return replace(progress, complaints=(*progress.complaints, complaint))
        case "verbose" if progress.phases and (step := steps.parse(event.stdout)):
            phase = progress.phases[-1]
            before = phase.working.get(step.host, Work(phase.task, event.created - step.seconds))
            return _in_phase(
                progress,
                task=event.stdout.strip(),
                steps=(*phase.steps, event.stdout.strip()),
                working={**phase.working, step.host: replace(before, step=step)},
            )
    return progress


def _closed(phases: tuple[Phase, ...], now: float) -> tuple[Phase, ...]:
    # A play that ran no task (no host of its group, or all done before) is no phase.
    if not phases:
        return ()
    last = phases[-1]
    return (*phases[:-1], *((replace(last, ended=now),) if last.hosts else ()))


def _blamed(progress: Progress) -> tuple[Phase, ...]:
    # A host that ran its "always" tasks after its failure only looked rescued.
    where: dict[int, set[str]] = {}
    for failure in progress.decisive:
        where.setdefault(failure.phase, set()).add(failure.host)
    return tuple(
        replace(phase, down=frozenset(where.get(index, ())))
        for index, phase in enumerate(progress.phases)
    )


def _in_phase(progress: Progress, **changes: Any) -> Progress:
    phases = progress.phases
    return replace(progress, phases=(*phases[:-1], replace(phases[-1], **changes)))


def _failure(event: Event, phase: int) -> Failure:
    action = str(event.data.get("task_action", "")).rpartition(".")[2]
    role = str(event.data.get("role", "")).rpartition(".")[2]
    file = PurePath(str(event.data.get("task_path", "")).rpartition(":")[0]).name
    return Failure(
        host=event.host,
        phase=phase,
        lines=_lines(event, action, role),
        checking=role in CHECKING_ROLES or file == "preflight.yml" or action == ARGUMENT_SPEC,
        unreachable=event.name == UNREACHABLE_EVENT,
    )


def _lines(event: Event, action: str, role: str) -> tuple[str, ...]:
    result = event.result
    if event.name == UNREACHABLE_EVENT:
        why = str(result.get("msg", "")).rpartition("via ssh: ")[2].strip() or "no answer"
        return (
            f'{event.host} cannot be reached: expected a login over SSH, got "{why}"; check '
            f"ansible_host, ansible_user and the key of {event.host} in the inventory.",
        )
    if action in SPOKEN_ACTIONS:
        return _texts(result.get("msg"))
    if action == ARGUMENT_SPEC:
        return tuple(
            f"{event.host}: role {role} does not accept its variables: {error.rstrip('.')}; "
            "correct them in the inventory."
            for error in _texts(result.get("argument_errors") or result.get("msg"))
        )
    items = [item for item in result.get("results", ()) if item.get("failed")] or [result]
    return tuple(dict.fromkeys(f"{event.host}: {event.task}: {_reason(item)}" for item in items))


def _reason(result: Mapping[str, Any]) -> str:
    if "censored" in result:
        return CENSORED
    said = " ".join(_texts(result.get("msg"))) or "failed"
    printed = _texts(result.get("stderr")) or _texts(result.get("stdout"))
    # A command's own last line says more than Ansible's "non-zero return code".
    return f"{said}: {printed[-1]}" if printed and "rc" in result else said


def _texts(message: object) -> tuple[str, ...]:
    if isinstance(message, Sequence) and not isinstance(message, str):
        return tuple(line for part in message for line in _texts(part))
    lines = str(message if message is not None else "").splitlines()
    return tuple(line.strip() for line in lines if line.strip())


def _notes(event: Event) -> tuple[str, ...]:
    message = event.result.get("msg")
    said = str(event.data.get("task_action", "")).rpartition(".")[2] == "debug"
    # Notes are lists of sentences; what is shown as a mapping is the result, which has a form of its own.
    if not said or not isinstance(message, list):
        return ()
    # Most sentences of the collection begin with the host that they are about.
    return tuple(
        line if re.match(r"[\w.-]+: ", line) else f"{event.host}: {line}"
        for line in _texts(message)
    )


def _complaint(stdout: str) -> str:
    _, mark, text = stdout.partition("[ERROR]: ")
    return text.splitlines()[0].strip() if mark else ""
