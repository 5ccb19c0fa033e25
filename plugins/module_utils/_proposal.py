# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Which parallel sizes a new inventory begins with: a function of the GPUs and of what joins them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from . import _shape


@dataclass(frozen=True)
class Proposal:
    """Sizes that use all GPUs, and why each is as it is."""

    sizes: _shape.Sizes
    tensor_because: str
    pipeline_because: str


def propose(gpus: Mapping[str, int], *, rdma: bool) -> Proposal | None:
    """Return sizes for the GPUs of each host, None where a host has none.

    Tensor parallel waits for the wire in every layer, pipeline parallel once in a stage: so tensor parallel
    stays inside a host, unless that has one GPU and RDMA joins it to the others. Its size is a power of two,
    as those divide the attention heads of nearly all models.
    """
    if not gpus or not all(gpus.values()):
        return None
    total, common = sum(gpus.values()), math.gcd(*gpus.values())
    within = common & -common
    single = set(gpus.values()) == {1}
    if single and rdma and total & (total - 1) == 0:
        because = f"RDMA joins {total} hosts with a GPU each" if total > 1 else "there is one GPU"
        return Proposal(_shape.Sizes(tensor=total), because, "no stages are needed")
    stages = total // within
    return Proposal(
        _shape.Sizes(tensor=within, pipeline=stages),
        f"each host has {_count(within)} for a stage, so no layer waits for the wire",
        f"{_count(total)} in all make {stages} {'stage' if stages == 1 else 'stages'} of {within}",
    )


def _count(gpus: int) -> str:
    return f"{gpus} GPU{'' if gpus == 1 else 's'}"
