# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the environment would refuse, said before anything is changed."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.samewire.vllm.plugins.filter import environment_problems, node_environment
from tests.unit.plans import plan


def test_environment_problems_is_what_node_environment_refuses() -> None:
    assert environment_problems.environment_problems(plan(), "spark0", head="spark0") == []
    wrong = {"VLLM_HOST_IP": "10.1.230.180"}
    (problem,) = environment_problems.environment_problems(plan(), "spark0", "spark0", wrong)
    with pytest.raises(AnsibleFilterError) as refused:
        node_environment.node_environment(plan(), "spark0", "spark0", overrides=wrong)
    assert str(refused.value) == problem
