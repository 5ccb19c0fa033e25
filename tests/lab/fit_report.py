# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Runs in a container of the lab's image: vLLM's own report of a model's weights and cache.

vLLM pickles what it runs on its ranks by name, so this is imported, never run as a script.
"""

from __future__ import annotations

import json
from typing import Any

MARK = "samewire:report "


def weights(model: Any) -> int:
    """Return the bytes of a rank's parameters; tied ones count once."""
    sizes = {each.data_ptr(): each.numel() * each.element_size() for each in model.parameters()}
    return sum(sizes.values())


def main(folder: str, tensor: int, pipeline: int, context: int) -> None:
    """Print the bytes of the weights on each rank; the log says how many requests the cache holds."""
    from vllm import LLM  # noqa: PLC0415 - only the image has it

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
    )
    print(MARK + json.dumps(llm.apply_model(weights)))
