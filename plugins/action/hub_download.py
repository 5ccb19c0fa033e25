# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Action: repeat the module hub_download until the download is over, showing how far it is."""

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.samewire.vllm.plugins.module_utils import _following
from ansible_collections.samewire.vllm.plugins.plugin_utils import _pace

display = Display()


class ActionModule(ActionBase):  # type: ignore[misc]
    """Wait on the controller, so that a person sees how far the download is."""

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the module's last result, with the problem in `msg` where it failed."""
        result = dict(super().run(tmp, task_vars))
        if self._task.check_mode:
            return {**result, "changed": False, "over": False}
        host = (task_vars or {}).get("inventory_hostname", "")
        seen = _following.follow(
            lambda: self._execute_module(module_args=self._task.args, task_vars=task_vars),
            lambda text: display.display(f"{host}: {text}"),
            time.monotonic,
            stall=float(self._task.args.get("stall_timeout", 900)),
            every=_pace.seconds(),
        )
        if seen.get("problem"):
            return {**result, **seen, "failed": True, "msg": f"{host}: {seen['problem']}"}
        return {**result, **seen}
