# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Complete a prompt greedily with vLLM on this one host and write reference.json into the model.

Usage: reference.py DIRECTORY. What a cluster answers is compared with it.
"""

import json
import sys
from pathlib import Path

from vllm import LLM, SamplingParams

PROMPT = "Every layer on"
MAX_TOKENS = 64


def main(directory: str) -> None:
    """Write {"model", "prompt", "max_tokens", "temperature", "text"}."""
    model = LLM(model=directory, enforce_eager=True, max_model_len=256)
    greedy = SamplingParams(temperature=0, max_tokens=MAX_TOKENS)
    text = model.generate([PROMPT], greedy)[0].outputs[0].text
    reference = {
        "model": directory,
        "prompt": PROMPT,
        "max_tokens": MAX_TOKENS,
        "temperature": 0,
        "text": text,
    }
    Path(directory, "reference.json").write_text(json.dumps(reference, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
