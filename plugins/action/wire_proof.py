# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Action: run the module wire_proof on a host from its sources."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.modules import wire_proof
from ansible_collections.samewire.vllm.plugins.plugin_utils import _unpacked_action


class ActionModule(_unpacked_action.UnpackedAction):
    """Runs on each host of each deployment."""

    module = wire_proof
