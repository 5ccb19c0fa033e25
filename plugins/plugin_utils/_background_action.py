# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Actions of modules that work in the background, waited for on the controller."""

from __future__ import annotations

import time
from typing import Any

from ansible.utils.display import Display

from ansible_collections.samewire.vllm.plugins.module_utils import _following
from ansible_collections.samewire.vllm.plugins.plugin_utils import _pace, _unpacked_action

display = Display()


class BackgroundAction(_unpacked_action.Unpacked):
    """Starts its module on a host and repeats it until the work is over, showing how far it is."""

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the module's last result, with the problem in `msg` where it failed."""
        result = dict(super().run(tmp, task_vars))
        done = _following.carry_through(
            lambda **more: self.module_result({**self._task.args, **more}, task_vars),
            (task_vars or {}).get("inventory_hostname", ""),
            display.display,
            time.monotonic,
            stall=float(self._task.args.get("stall_timeout", 900)),
            every=_pace.seconds(),
        )
        return {**result, **done}
