# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Judge what the image holds: Ray and vLLM at all, and the same of them on all hosts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

# What begins the line of roles/container_image/files/versions.py.
_MARK = "samewire:versions "
_JUDGED = ("ray", "vllm", "python")


def versions(output: str) -> dict[str, Any] | None:
    """Return what versions.py printed, by name of the program, or None where it did not run."""
    for line in reversed(output.splitlines()):
        if line.startswith(_MARK):
            return dict(json.loads(line[len(_MARK) :]))
    return None


def problems(image: str, outputs: Mapping[str, str]) -> list[str]:
    """Return what is wrong with the image, a sentence each; outputs: what versions.py printed, by host."""
    said = []
    found: dict[str, dict[str, Any]] = {}
    for host, output in sorted(outputs.items()):
        own = versions(output)
        if own is None:
            said.append(_unusable(image, host, output))
        elif absent := [name for name in ("ray", "vllm") if not own[name]]:
            said.append(_lacking(image, host, absent))
        else:
            found[host] = own
    for name in _JUDGED:
        said += _differences(image, name, {host: own[name] for host, own in found.items()})
    return said


def _lacking(image: str, host: str, absent: list[str]) -> str:
    names = {"ray": "Ray", "vllm": "vLLM"}
    return (
        f"{host}: image {image} has no {' and no '.join(names[name] for name in absent)}, "
        f"expected both in one Python; {_CURE}"
    )


_CURE = (
    "vLLM's own images have no Ray since about 0.18: build one from it with "
    "RUN pip install 'ray[default]', or name their directory with ray_node_programs"
)


def _unusable(image: str, host: str, output: str) -> str:
    if "has no program ray" in output:
        return _lacking(image, host, ["ray"])
    said = output.strip().splitlines()
    detail = said[-1].strip() if said else "it printed nothing"
    return (
        f"{host}: image {image} does not run its Python ({detail}); expected an image for this "
        "host's processor that holds Ray and vLLM, correct container_image_name"
    )


def _differences(image: str, name: str, by_host: Mapping[str, str]) -> list[str]:
    if len(set(by_host.values())) < 2:
        return []
    usual = Counter(by_host.values()).most_common(1)[0][0]
    witness = next(host for host, version in by_host.items() if version == usual)
    label = {"ray": "Ray", "vllm": "vLLM", "python": "Python"}[name]
    return [
        f"{host}: {label} in image {image} is {version}, expected {usual} as on {witness}; give all hosts "
        "the same container_image_name and run again with -e container_image_pull=always"
        for host, version in by_host.items()
        if version != usual
    ]
