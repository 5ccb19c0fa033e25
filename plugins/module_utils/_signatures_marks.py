# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a log says beside faults: marks that make the same message mean one thing or another."""

from __future__ import annotations

from ._signatures import READY, Signature

JOINED = "ray_joined"

MARKS: dict[str, tuple[Signature, ...]] = {
    # The server serves: what was printed before is overcome.
    READY: (
        Signature("application startup complete"),
        Signature("uvicorn running on"),
        Signature("avg generation throughput"),
    ),
    # Ray's head started, or a worker found it after some tries.
    JOINED: (Signature("ray runtime started"),),
    "rdma_used": (Signature("using network ib"), Signature("via net/ib")),
    "rdma_wanted": (
        Signature("nccl_ib_hca set"),
        Signature("nccl_ib_gid_index set"),
        Signature("nccl_net set by environment to", r"to ib\b"),
        Signature("net/ofi"),
    ),
    "hca_named": (Signature("nccl_ib_hca set"),),
    # NCCL 2.28 names what it tried: silence about IB means that it was not wanted.
    "plugins_told": (Signature("initialized net plugin"),),
    "ib_disabled": (Signature("nccl_ib_disable set by environment to", r"to 1"),),
    "unified_memory": (
        Signature("nvidia gb", r"\bGB10\b"),
        Signature("dgx spark"),
        # GB10: what is left of its 128 GB.
        Signature("total capacity of", r"total capacity of 1(?:19|2[0-2])\.\d+ GiB"),
        Signature("unified memory"),
        Signature("sm_", r"\bsm_121"),
    ),
    "docker_bridge": (
        Signature("using", r"(?:Bootstrap|NET/Socket)\s?: Using.*\b172\.(?:17|18)\.\d+\.\d+"),
        Signature("local node ip", r"172\.(?:17|18)\."),
    ),
    "odd_interface": (
        Signature(
            "using",
            r"(?:Bootstrap|NET/Socket)\s?: Using.*\b(?:docker|veth|virbr|br-|cni|flannel|cali|tailscale|tun|"
            r"wg|wl|usb|lo:)",
        ),
    ),
    "several_interfaces": (Signature("using", r"NET/Socket ?: Using \[0\].*\[1\]"),),
    "connection_failed": (
        Signature("connect", r"connect.*(?:refused|timed out|fail|unreachable|reset)"),
        Signature("timed out", r"socket|connect|recv"),
        Signature("no route to host"),
        Signature("call to bind failed"),
    ),
    "gloo_failed": (Signature("connectfullmesh"), Signature("gloo", r"refused|timed out|fail")),
    # vLLM's old executor copies the driver's environment to the workers, and says so.
    "env_copied": (
        Signature(
            "copying the following environment variables", r"_IFNAME|NCCL_IB_|UCX_NET_DEVICES"
        ),
    ),
    "node_resource": (Signature("node:", r"['\"]node:(?!__internal)[^'\"]+['\"]: 0\.001"),),
}
