# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Devices and locked memory matter only where the plan says RDMA."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter.rdma_problems import FilterModule

NODE = {"rdma": {"devices": [], "memlock": 65536}}


def test_sockets_need_nothing() -> None:
    assert FilterModule().filters()["rdma_problems"]({"node0": NODE}, "socket") == []


def test_rdma_needs_devices_and_locked_memory() -> None:
    good = {"rdma": {"devices": ["uverbs0"], "memlock": None}}
    assert FilterModule().filters()["rdma_problems"]({"node1": NODE, "node0": good}, "rdma") == [
        "node1: /dev/infiniband has no device, expected uverbs0 or the like, since the plan says RDMA; "
        "load the driver on node1 with: modprobe ib_uverbs",
        "node1: the Docker Engine may lock 64 KiB of memory, expected no limit, since the plan says RDMA; "
        "set LimitMEMLOCK=infinity with: systemctl edit docker on node1",
    ]
