# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The output is read from a container that ended well or badly."""

from __future__ import annotations

from ansible_collections.samewire.vllm.plugins.filter.image_problems import FilterModule


def test_the_output_of_both_ends() -> None:
    judge = FilterModule().filters()["image_problems"]
    good = 'samewire:versions {"python": "3.12.3", "ray": "2.60.0", "vllm": "0.32.0"}'
    asked = {
        "node0": {"container": {"Output": good}},
        "node1": {"failed": True, "msg": "no such file", "status": 127},
    }
    assert judge(asked, "i:1") == [
        "node1: image i:1 does not run its Python (no such file); expected an image for this host's "
        "processor that holds vLLM, correct container_image_name"
    ]


def test_a_model_that_the_image_does_not_know() -> None:
    judge = FilterModule().filters()["image_problems"]
    said = (
        'samewire:versions {"python": "3.12.3", "ray": null, "vllm": "0.32.0", '
        '"transformers": "5.19.0", "knows_model": false}'
    )
    asked = {host: {"container": {"Output": said}} for host in ("node0", "node1")}
    assert judge(asked, "i:1", architectures=["NovelForCausalLM"]) == [
        "image i:1: neither its vLLM 0.32.0 nor its Transformers 5.19.0 knows NovelForCausalLM, as "
        "config.json of the model calls it; choose an image with a newer vLLM, or another model (a model "
        "with code of its own wants --trust-remote-code in vllm_server_extra_args)"
    ]
