# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Action: write what the module node_logs reads on a host into a folder on the controller."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.samewire.vllm.plugins.module_utils import _bundle, _redaction


class ActionModule(ActionBase):  # type: ignore[misc]
    """Keep the logs out of the result, which Ansible prints and copies about."""

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the names of the files; raise AnsibleActionFail where they cannot be written."""
        result = dict(super().run(tmp, task_vars))
        arguments = dict(self._task.args)
        documents = arguments.pop("documents", None) or {}
        seen = self._execute_module(module_args=arguments, task_vars=task_vars)
        if seen.get("failed") or seen.get("unreachable"):
            return {**result, **seen}
        host = str((task_vars or {}).get("inventory_hostname", ""))
        try:
            files = _bundle.unpack(seen.pop("packed"))
            files.update(
                (
                    name,
                    _redaction.redacted(
                        text if isinstance(text, str) else json.dumps(text, indent=2)
                    ),
                )
                for name, text in documents.items()
                if text
            )
            _write(Path(arguments["dest"]).expanduser() / host, files)
        except (OSError, _bundle.BundleRefused) as error:
            raise AnsibleActionFail(
                f"{host}: its logs cannot be kept on the controller: {error}"
            ) from error
        tails = {f"{host}/{name}": lines for name, lines in seen["tails"].items()}
        return {**result, "changed": False, "files": sorted(files), "tails": tails}


def _write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
