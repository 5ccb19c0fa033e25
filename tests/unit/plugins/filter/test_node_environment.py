# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""How a refused environment reaches the user."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.samewire.vllm.plugins.filter import node_environment
from tests.unit.plans import plan


def test_node_environment_refuses_as_a_filter() -> None:
    with pytest.raises(AnsibleFilterError, match=r"^spark2: is not in the plan"):
        node_environment.node_environment(plan(), "spark2", head="spark0")
