# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Action: keep files and secrets in a folder on the controller, in the process of the run itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.samewire.vllm.plugins.plugin_utils import _controller_files

ARGUMENTS: dict[str, dict[str, Any]] = {
    "path": {"type": "str", "required": True},
    "files": {"type": "dict", "default": {}},
    "secrets": {"type": "dict", "default": {}, "no_log": True},
}


class ActionModule(ActionBase):  # type: ignore[misc]
    """A module on localhost would cost a process for each file."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True
    _supports_diff = True

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the names of what changed; raise AnsibleActionFail where it cannot be."""
        result = dict(super().run(tmp, task_vars))
        _unused, asked = self.validate_argument_spec(ARGUMENTS)
        folder = Path(self._loader.path_dwim(asked["path"]))
        try:
            kept = _controller_files.keep(
                folder, asked["files"], asked["secrets"], check=self._task.check_mode
            )
        except OSError as error:
            raise AnsibleActionFail(
                f"{folder}: its files cannot be written on the controller: {error}"
            ) from error
        return {
            **result,
            "changed": bool(kept.written or kept.removed),
            "written": kept.written,
            "removed": kept.removed,
            "diff": kept.diff,
        }
