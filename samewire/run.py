# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""One run of a playbook through ansible-runner; nothing is left behind but what is returned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ansible_runner

from ansible_collections.samewire.vllm.plugins.module_utils import _following
from ansible_collections.samewire.vllm.plugins.plugin_utils import _pace
from samewire.environment import for_ansible
from samewire.events import ANSI_COLOUR, Event, Progress, advance
from samewire.exit_codes import ExitCode
from samewire.interrupt import interruptible


@dataclass(frozen=True)
class Request:
    """What to run, as ansible-playbook would be asked for it."""

    playbook: str
    """A file of the project, or a fully qualified name."""
    inventory: Path
    extra_vars: Mapping[str, Any] = field(default_factory=dict)
    check: bool = False
    diff: bool = False
    verbosity: int = 0
    pace: int = int(_following.SHOWN_EVERY)
    """Seconds between two lines of a long task about how far it is."""


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    progress: Progress
    status: str
    """successful, failed, canceled or timeout, as ansible-runner calls it."""
    output: str
    """What ansible-playbook printed, without colours."""

    @property
    def exit_code(self) -> ExitCode:
        if self.status == "canceled":
            return ExitCode.INTERRUPTED
        if self.status == "successful":
            return ExitCode.DONE
        if self.progress.unreachable:
            return ExitCode.UNREACHABLE
        return ExitCode.REFUSED if self.progress.refused else ExitCode.FAILED


def run(
    request: Request,
    project: Path,
    on_event: Callable[[Progress, dict[str, Any]], None],
    expected: Mapping[str, float] | None = None,
) -> Ended:
    """Run the playbook and hand each raw job event, with the progress after it, to on_event.

    project is the folder whose ansible.cfg applies and where files of the playbook are looked for; expected,
    how many seconds each phase took before.
    """
    progress = Progress(expected=expected or {})

    def handle(raw: dict[str, Any]) -> bool:
        nonlocal progress
        if interrupt.pid is None:
            interrupt.pid = raw.get("pid")
        progress = advance(progress, Event.parse(raw))
        on_event(progress, raw)
        return False  # the event is not needed on disk

    with TemporaryDirectory(prefix="samewire-") as private, interruptible() as interrupt:
        runner = ansible_runner.run(
            private_data_dir=private,
            project_dir=str(project),
            playbook=request.playbook,
            inventory=str(request.inventory),
            extravars=dict(request.extra_vars),
            cmdline=" ".join(_options(request)),
            verbosity=request.verbosity,
            envvars=for_ansible(project) | {_pace.VARIABLE: str(request.pace)},
            cancel_callback=interrupt.kill_now,
            # That is asked when a read from Ansible ends; a quiet task may print nothing for long.
            settings={"pexpect_timeout": 1},
            event_handler=handle,
            quiet=True,
        )
        with runner.stdout as stdout:
            status = "canceled" if interrupt.wanted else runner.status
            return Ended(progress, status, ANSI_COLOUR.sub("", stdout.read()))


def _options(request: Request) -> list[str]:
    return [name for name, on in (("--check", request.check), ("--diff", request.diff)) if on]
