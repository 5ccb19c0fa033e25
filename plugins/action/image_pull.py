# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Action: start the module image_pull on a host and repeat it until the image is there."""

from __future__ import annotations

from typing import Any

from ansible_collections.samewire.vllm.plugins.modules import image_pull
from ansible_collections.samewire.vllm.plugins.plugin_utils import _background_action


class ActionModule(_background_action.BackgroundAction):
    """Shows how far the pull is; a host that was seen to have the image is not asked again."""

    module = image_pull

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the module's last result, or what it would be."""
        seen = self._task.args.get("seen")
        if seen and self._task.args.get("pull", "not_present") == "not_present":
            return {"changed": False, "image": seen, "unavailable": "", "problem": "", "over": True}
        return super().run(tmp, task_vars)
