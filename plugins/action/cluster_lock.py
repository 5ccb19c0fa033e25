# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Action: ask the module cluster_lock in the name of this run, and see through locks of dead runs."""

from __future__ import annotations

import getpass
import os
import socket
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _lock
from ansible_collections.samewire.vllm.plugins.modules import cluster_lock
from ansible_collections.samewire.vllm.plugins.plugin_utils import _unpacked_action


class ActionModule(_unpacked_action.Unpacked):
    """Only the controller knows which of its own processes live."""

    module = cluster_lock

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the module's result, with the sentence of a refusal in `problem`."""
        result = dict(super().run(tmp, task_vars))
        # Ansible runs each task in a child of the process that is the run.
        me = holder(os.getppid())
        asked = {**self._task.args, "holder": asdict(me)}
        seen = self.module_result(asked, task_vars)
        other = _other(seen)
        if other and is_dead(other.holder, me.space):
            asked["dead"] = asdict(other.holder)
            seen = self.module_result(asked, task_vars)
            other = _other(seen)
        if other:
            host = str((task_vars or {}).get("inventory_hostname", ""))
            seen["problem"] = _lock.refusal(host, str(asked["cluster"]), other)
        return {**result, **seen}


def holder(pid: int) -> _lock.Holder:
    """Return who a process of this controller is."""
    return _lock.Holder(
        user=getpass.getuser(),
        controller=socket.gethostname(),
        pid=pid,
        started=_started(pid) or "",
        space=_space(),
    )


def is_dead(other: _lock.Holder, space: str) -> bool:
    """Whether a holder is known to be gone; another controller's never is."""
    return bool(space) and other.space == space and _started(other.pid) != other.started


def _other(seen: dict[str, Any]) -> _lock.Lease | None:
    lease = seen.get("lease")
    return _lock.Lease(**{**lease, "holder": _lock.Holder(**lease["holder"])}) if lease else None


def _started(pid: int) -> str | None:
    """Return when a process began, in the kernel's clock ticks since boot; None where there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return None
    # The name of the program, in parentheses, may hold anything; source: proc(5), fields 3 and 22.
    state, *fields = stat.rpartition(")")[2].split()
    return None if state == "Z" else fields[18]


def _space() -> str:
    """Return what tells the processes of this controller from all others, empty where there is no /proc."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""
