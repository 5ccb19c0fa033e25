# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Action: repeat the module vllm_ready until the start is over, showing each phase as it comes."""

from __future__ import annotations

import time
from typing import Any

from ansible.utils.display import Display

from ansible_collections.samewire.vllm.plugins.modules import vllm_ready
from ansible_collections.samewire.vllm.plugins.plugin_utils import _unpacked_action

display = Display()

_GRACE = 30
# Seconds of a call. What it sees is shown after it; it costs half a second of a processor.
_FIRST, _FURTHER = 3, 10


class ActionModule(_unpacked_action.Unpacked):
    """Wait on the controller, so that a person sees the phases while they pass."""

    module = vllm_ready

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the module's last result, with what ended the wait in `msg` where it failed."""
        result = dict(super().run(tmp, task_vars))
        if self._task.check_mode:
            return {**result, "changed": False, "ready": False}
        host = (task_vars or {}).get("inventory_hostname", "")
        begun = changed = time.monotonic()
        known, seconds = "", _FIRST
        while True:
            seen = self.module_result(
                {**self._task.args, "known": known, "seconds": seconds}, task_vars
            )
            if seen.get("failed") or seen.get("unreachable"):
                return {**result, **seen}
            now, seconds = time.monotonic(), _FURTHER
            for step in seen["passed"]:
                known, changed = step["progress"], now - step["ago"]
                display.display(f"{host}: {known} ({changed - begun:.0f} s)")
            if seen["ready"]:
                return {**result, **seen, "seconds": round(now - begun, 1)}
            problem = seen["problem"] or self._stalled(seen, now - begun, now - changed)
            if problem:
                return {**result, **seen, "failed": True, "msg": self._message(host, problem, seen)}

    def _stalled(self, seen: dict[str, Any], elapsed: float, silent: float) -> str:
        """Return that nothing moves any more, or that the time is up; else nothing."""
        findings = seen["findings"]
        # A rank that died may leave a server that never ends by itself.
        if findings and findings[0]["confidence"] == "high" and silent > _GRACE:
            return f"its log holds a known fault, and nothing moves for {silent:.0f} s"
        stall = int(self._task.args.get("stall_timeout", 600))
        if silent > (stall if seen["joined"] else stall / 5):
            return f"no progress for {silent:.0f} s at: {seen['progress']}"
        timeout = int(self._task.args.get("timeout", 1800))
        return f"not ready after {timeout} s, at: {seen['progress']}" if elapsed > timeout else ""

    def _message(self, host: str, problem: str, seen: dict[str, Any]) -> str:
        lines = [f"{host}: vLLM does not start: {problem}"]
        if seen["standing"]:
            lines.append(f"Where the ranks stand: {seen['standing']}")
        if seen["findings"]:
            first = seen["findings"][0]
            lines.append(f"Cause: {first['cause']} ({first['id']})")
            lines.append(f"Remedy: {first['remedy']}")
            lines += [f"  {each['text']}" for each in first["evidence"]]
        if seen["first_exception"] and (
            not seen["findings"] or seen["findings"][0]["id"] == "secondary_error"
        ):
            lines.append(f"The first exception: {seen['first_exception']}")
        if not seen["findings"]:
            lines.append(f"Its last lines (all: docker logs {self._task.args['container']}):")
            lines += [f"  {line}" for line in seen["log"]]
        return "\n".join(lines)
