# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Runs in a container of the lab's image: vLLM's own weights and cache of a model.

On a CPU vLLM packs the weights once they are loaded, and keeps no parameters. So they are counted before
that, by what each rank imports before it loads its model.
"""

from __future__ import annotations

import json
from typing import Any

MARK = "samewire:report "
COUNTED: list[int] = []


class Ranks:
    """What is added to the class of each rank."""

    def weights(self) -> int:
        """Return the bytes of the rank's parameters as they were loaded; tied ones count once."""
        return COUNTED[-1]


def count() -> None:
    """Have every load of a model counted."""
    from vllm.model_executor.model_loader import base_loader  # noqa: PLC0415 - only the image has it

    pack = base_loader.process_weights_after_loading

    def counted(model: Any, *arguments: Any) -> None:
        sizes = {each.data_ptr(): each.numel() * each.element_size() for each in model.parameters()}
        COUNTED.append(sum(sizes.values()))
        pack(model, *arguments)

    base_loader.process_weights_after_loading = counted


def main(folder: str, tensor: int, pipeline: int, context: int) -> None:
    """Print the bytes of the weights on each rank; the log says how many requests the cache holds."""
    from vllm import LLM  # noqa: PLC0415

    llm = LLM(
        model=folder,
        load_format="dummy",
        skip_tokenizer_init=True,
        enforce_eager=True,
        tensor_parallel_size=tensor,
        pipeline_parallel_size=pipeline,
        max_model_len=context,
        max_num_batched_tokens=2048,
        max_num_seqs=4,
        worker_extension_cls="fit_ranks.Ranks",
    )
    print(MARK + json.dumps(llm.collective_rpc("weights")))
