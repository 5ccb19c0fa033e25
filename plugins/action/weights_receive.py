# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Action: start the module weights_receive on a host and repeat it until the weights are there."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.modules import weights_receive
from ansible_collections.samewire.vllm.plugins.plugin_utils import _background_action


class ActionModule(_background_action.BackgroundAction):
    """Shows how far the transfer is."""

    module = weights_receive
