# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Judge an image: whether it is the same on all hosts, and what it holds of vLLM and Ray.

An image is what `docker image inspect` prints.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

# What begins the line of roles/container_image/files/versions.py.
_MARK = "samewire:versions "
# The last of what pip says of a failure, within a printed list.
_ERROR = re.compile(r"(?:ERROR|error): ([^\n'\"\\]+)")
_JUDGED = ("ray", "vllm", "python")


def content(image: Mapping[str, Any]) -> str:
    """Return what two images have in common only where they hold the same, also in stores of different kinds.

    A registry's digest is no such thing, as an image that was received has none; nor is the id, which
    the two image stores of Docker make up differently.
    """
    told = {name: value for name, value in (image.get("Config") or {}).items() if value}
    parts = [(image.get("RootFS") or {}).get("Layers"), image.get("Architecture"), told]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two images are the same."""
    return bool(
        one["Id"] == other["Id"]
        or _registry_digests(one) & _registry_digests(other)
        or content(one) == content(other)
    )


def digests(images: Mapping[str, Mapping[str, Any] | None]) -> dict[str, str]:
    """Return the digest that identifies the image of each host, by name of the host.

    It is that of the registry from which any of the hosts has the same image, else an id; empty where the
    image is not there.
    """
    found = {}
    for host, image in images.items():
        if not image:
            found[host] = ""
            continue
        equal = [each for each in images.values() if each and same(image, each)]
        own = set().union(*map(_registry_digests, equal))
        found[host] = min(own or {str(each["Id"]) for each in equal})
    return found


def _registry_digests(image: Mapping[str, Any]) -> set[str]:
    return {str(digest).rpartition("@")[2] for digest in image.get("RepoDigests") or []}


def pull_problem(name: str, said: str) -> str:
    """Return why an image cannot be pulled, in the words of the engine, and what helps."""
    lower = said.lower()
    if any(word in lower for word in ("denied", "unauthorized", "credentials")):
        cure = "log in with docker login on this host, or correct container_image_name"
    elif "no space left" in lower:
        cure = "make room on the disk of Docker, as with docker image prune"
    elif any(word in lower for word in ("manifest unknown", "not found", "no matching manifest")):
        cure = "correct container_image_name"
    else:
        cure = "look whether the registry answers to this host, and run again"
    return f"image {name} cannot be pulled from its registry ({said}); {cure}"


def build_problem(host: str, base: str, ray: str, said: str) -> str:
    """Return why Ray cannot be added to an image; said: the message of docker_image, with its logs."""
    errors = _ERROR.findall(said)
    reason = errors[-1] if errors else said.strip()
    return (
        f"{host}: {ray} cannot be added to image {base} ({reason}); choose a release that has a wheel "
        "for its Python with container_image_ray, name an index that this host reaches with "
        "container_image_pip_args, or set vllm_server_executor: mp, which needs no Ray, and no "
        "container_image_base"
    )


def output(asked: Mapping[str, Any]) -> str:
    """Return what versions.py printed; asked: the result of docker_container that ran it."""
    return str((asked.get("container") or {}).get("Output") or asked.get("msg") or "")


def versions(printed: str) -> dict[str, Any] | None:
    """Return what versions.py printed, by name of the program, or None where it did not run."""
    answer = _answer(printed)
    return None if answer is None else {name: answer[name] for name in _JUDGED}


def _answer(printed: str) -> dict[str, Any] | None:
    for line in reversed(printed.splitlines()):
        if line.startswith(_MARK):
            return dict(json.loads(line[len(_MARK) :]))
    return None


def problems(
    image: str, outputs: Mapping[str, str], architectures: Sequence[str] = ()
) -> list[str]:
    """Return what is wrong with the image, a sentence each.

    outputs: what versions.py printed, by host; architectures: those that it was asked for.
    """
    said = []
    found: dict[str, dict[str, Any]] = {}
    for host, output in sorted(outputs.items()):
        own = _answer(output)
        if own is None:
            said.append(_unusable(image, host, output))
        elif not own["vllm"]:
            said.append(_lacking(image, host))
        else:
            found[host] = own
    for name in _JUDGED:
        said += _differences(image, name, {host: own[name] for host, own in found.items()})
    # All hosts have the same image, so one of them speaks for all.
    strange = [own for own in found.values() if not own.get("knows_model", True)]
    return said or [_strange(image, own, architectures) for own in strange[:1]]


def _strange(image: str, own: Mapping[str, Any], architectures: Sequence[str]) -> str:
    """Return the sentence for a model that vLLM does not know.

    Source: vllm/model_executor/models/registry.py, which falls back to Transformers.
    """
    return (
        f"image {image}: neither its vLLM {own['vllm']} nor its Transformers "
        f"{own['transformers'] or '(none)'} knows {' or '.join(architectures)}, as config.json of the model "
        "calls it; choose an image with a newer vLLM, or another model (a model with code of its own wants "
        "--trust-remote-code in vllm_server_extra_args)"
    )


def _lacking(image: str, host: str) -> str:
    return (
        f"{host}: image {image} has no vLLM, expected it beside its Python; correct container_image_name, "
        "or name the directory of its programs with ray_node_programs"
    )


def _unusable(image: str, host: str, output: str) -> str:
    if "has no program vllm" in output:
        return _lacking(image, host)
    said = output.strip().splitlines()
    detail = said[-1].strip() if said else "it printed nothing"
    return (
        f"{host}: image {image} does not run its Python ({detail}); expected an image for this "
        "host's processor that holds vLLM, correct container_image_name"
    )


def _differences(image: str, name: str, by_host: Mapping[str, str]) -> list[str]:
    if len(set(by_host.values())) < 2:
        return []
    usual = Counter(by_host.values()).most_common(1)[0][0]
    witness = next(host for host, version in by_host.items() if version == usual)
    label = {"ray": "Ray", "vllm": "vLLM", "python": "Python"}[name]
    return [
        f"{host}: {label} in image {image} is {version or 'absent'}, expected {usual or 'none'} as on "
        f"{witness}; give all hosts the same container_image_name and run again with "
        "-e container_image_pull=always"
        for host, version in by_host.items()
        if version != usual
    ]
