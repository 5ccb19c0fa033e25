# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Action: make a certificate where the module of that name is given none, and finds none that holds."""

from __future__ import annotations

import datetime
from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.samewire.vllm.plugins.module_utils import _tls
from ansible_collections.samewire.vllm.plugins.plugin_utils import _certificate


class ActionModule(ActionBase):  # type: ignore[misc]
    """The controller has what it takes to make one."""

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the module's result."""
        result = dict(super().run(tmp, task_vars))
        asked = dict(self._task.args)
        asked["names"] = _tls.names(map(str, asked["names"]))
        seen = self._execute_module(module_args=asked, task_vars=task_vars)
        if not seen.get("failed") and not asked.get("certificate"):
            held = _certificate.read(seen["certificate"]) if seen["certificate"] else None
            now = datetime.datetime.now(datetime.timezone.utc)
            if _tls.is_due(held, asked["names"], now):
                made = _certificate.make(str(asked["cluster"]), asked["names"], now)
                asked["certificate"], asked["key"] = made
                seen = self._execute_module(module_args=asked, task_vars=task_vars)
        return {**result, **seen}
