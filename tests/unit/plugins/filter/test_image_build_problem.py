# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A build that failed, as docker_image and pip report it."""

from __future__ import annotations

import pytest

from ansible_collections.samewire.vllm.plugins.filter.image_build_problem import image_build_problem

NO_WHEEL = (
    "Error building local/vllm:ray - code: 1, message: The command '...' returned a non-zero code: 1, "
    "logs: ['Step 1/5 : FROM vllm:1', 'ERROR: Could not find a version that satisfies the requirement ray==9 "
    "(from versions: none)\\n', 'ERROR: No matching distribution found for ray==9\\n']"
)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (NO_WHEEL, "No matching distribution found for ray==9"),
        ("the engine has gone", "the engine has gone"),
    ],
)
def test_the_reason_is_what_pip_said_last(said: str, reason: str) -> None:
    assert image_build_problem({"msg": said}, "spark0", base="vllm:1", ray="ray==9") == (
        f"spark0: ray==9 cannot be added to image vllm:1 ({reason}); choose a release that has a wheel "
        "for its Python with container_image_ray, name an index that this host reaches with "
        "container_image_pip_args, or set vllm_server_executor: mp, which needs no Ray, and no "
        "container_image_base"
    )
