# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""One rank: all-reduces with PyTorch, the answer as JSON in a file. It needs PyTorch alone."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch
import torch.distributed as dist


def main() -> None:
    """Sum a tensor that is full of 1 on rank 0 and of 2 on rank 1, several times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("answer", type=Path)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--master", required=True, metavar="ADDRESS:PORT")
    parser.add_argument("--backend", required=True, choices=("nccl", "gloo"))
    parser.add_argument("--bytes", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    asked = parser.parse_args()
    device = torch.device("cuda:0" if asked.backend == "nccl" else "cpu")
    dist.init_process_group(
        asked.backend, init_method=f"tcp://{asked.master}", rank=asked.rank, world_size=2
    )
    tensor = torch.empty(asked.bytes // 4, dtype=torch.float32, device=device)
    right, seconds = True, []
    for _ in range(asked.rounds):
        tensor.fill_(asked.rank + 1)
        began = time.monotonic()
        dist.all_reduce(tensor)
        right = right and bool((tensor == 3).all())  # waits for the GPU
        seconds.append(time.monotonic() - began)
    dist.destroy_process_group()
    answer = {"right": right, "round_seconds": [round(each, 4) for each in seconds]}
    asked.answer.write_text(json.dumps(answer))


if __name__ == "__main__":
    main()
