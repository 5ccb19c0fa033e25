# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The filter on what Docker says of an image."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter.baked_variables import baked_variables


def test_baked_variables_takes_what_docker_prints() -> None:
    given = {"GLOO_SOCKET_IFNAME": "eth1"}
    assert baked_variables(["GLOO_SOCKET_IFNAME=eth0"], given) == [
        {
            "variable": "GLOO_SOCKET_IFNAME",
            "image": "eth0",
            "given": "eth1",
            "message": "the image sets GLOO_SOCKET_IFNAME='eth0'; the containers get 'eth1'",
        }
    ]
    assert baked_variables(None, given) == []
