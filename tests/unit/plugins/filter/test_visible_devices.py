# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Without Ray a server sees a GPU for each of its ranks, where a replica needs more than one host."""

from __future__ import annotations

import pytest

from ansible_collections.samewire.vllm.plugins.filter.visible_devices import visible_devices
from tests.unit.plugins.filter.test_preflight_problems import SETTINGS

EIGHT = {"node0": "8", "node1": "8"}


@pytest.mark.parametrize(
    ("executor", "tensor", "data", "gpus", "visible"),
    [
        ("mp", 8, 1, EIGHT, "0,1,2,3"),
        ("mp", 2, 1, EIGHT, "0"),
        # Each host has as many ranks as GPUs, or whole replicas.
        ("mp", 16, 1, EIGHT, None),
        ("mp", 4, 2, EIGHT, None),
        # The cluster may use some of them only.
        ("mp", 8, 1, {"node0": "4", "node1": "4"}, "0,1,2,3"),
        ("ray", 8, 1, EIGHT, None),
        ("mp", 8, 1, {"node0": "8"}, None),
    ],
)
def test_what_it_sees(
    executor: str, tensor: int, data: int, gpus: dict[str, str], visible: str | None
) -> None:
    settings = {
        **SETTINGS,
        "vllm_server_executor": executor,
        "vllm_server_tensor_parallel_size": tensor,
        "vllm_server_data_parallel_size": data,
    }
    expected = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert visible_devices(settings, gpus, "8") == expected
