# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Decide which hosts receive the image from the head, and what of it.

What a host has is what module image_pull returned: `image`, as `docker image inspect` prints it, and
`unavailable`, why the registry does not give it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _image, _weights_plan

# Below this many Mb/s gzip's fastest level, on one core, fills the link with less than it is given.
COMPRESSED_BELOW = 400

# Names of one processor: those of the kernel, and those of images.
_PROCESSORS = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class ImageTransfer:
    """Who receives the image from the head.

    compress: whether it goes compressed; notes and problems: a sentence each.
    """

    receivers: Sequence[str]
    compress: bool
    notes: Sequence[str]
    problems: Sequence[str]


def plan(
    found: Mapping[str, Mapping[str, Any]],
    name: str,
    head: str,
    distribution: str,
    speeds: Mapping[str, int | None],
) -> ImageTransfer:
    """Return who receives the image; found: what each host has; speeds: of the interconnect, in Mb/s.

    A head without a name sends nothing, as all others then pull.
    """
    source = found.get(head, {}).get("image") or {}
    receivers = [
        host for host in sorted(found) if host != head and _lacks(source, found[host], distribution)
    ]
    size = f" ({_weights_plan.amount(source['Size'])})" if source else ""
    notes = [
        f"{host}: receives image {name}{size} from {head} over the interconnect, "
        + _because(found[host])
        for host in receivers
    ]
    problems = []
    if receivers and "@" in name:
        problems.append(
            f"image {name} is named by its digest, which Docker knows only of an image that it pulled, "
            f"expected a tag for {', '.join(receivers)} to receive it from {head}; set container_image_name "
            "to name:tag, or open the way to the registry"
        )
    return ImageTransfer(receivers, compressed(speeds, head, receivers), notes, problems)


def _lacks(source: Mapping[str, Any], own: Mapping[str, Any], distribution: str) -> bool:
    """Whether a host is to receive what the source has; a source that is yet to pull has nothing."""
    image = own.get("image") or {}
    if distribution == "pull" or (distribution == "auto" and not own.get("unavailable")):
        return False
    return not image or (bool(source) and not _image.same(image, source))


def _because(own: Mapping[str, Any]) -> str:
    reason = own.get("unavailable")
    if not reason:
        return "since container_image_distribution is head"
    return f"since the registry does not give it to this host ({reason})"


def compressed(speeds: Mapping[str, int | None], head: str, receivers: Sequence[str]) -> bool:
    """Whether the image arrives sooner where it is compressed; all receivers share the head's link."""
    known = {host: speed for host, speed in speeds.items() if speed and speed > 0}
    shares = [known[host] for host in receivers if host in known]
    if head in known and receivers:
        shares.append(known[head] // len(receivers))
    return bool(shares) and min(shares) < COMPRESSED_BELOW


def held(layers: Sequence[str], others: Sequence[Sequence[str]]) -> int:
    """Return how many layers of an image, from the lowest on, a host has in other images.

    layers: diff ids, the lowest first; others: those of all images that the host has.
    """
    best = 0
    for other in others:
        count = 0
        for ours, theirs in zip(layers, other):
            if ours != theirs:
                break
            count += 1
        best = max(best, count)
    return best


def spared(layers: Sequence[str], count: int) -> frozenset[str]:
    """Return the layers that need not be sent to a host that holds that many of them.

    A layer that comes again further up is sent: there it lies on others, and is one of its own.
    """
    return frozenset(layers[:count]) - frozenset(layers[count:])


def sizes(layers: Sequence[str], history: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the bytes of each layer, the lowest first; nothing where the history does not tell them.

    history: the steps that made the image, the last one first.
    """
    found = [int(step["Size"]) for step in reversed(history)]
    if len(found) != len(layers):
        found = [size for size in found if size]
    return found if len(found) == len(layers) else []


def lacking(size: int, layer_sizes: Sequence[int], count: int) -> int:
    """Return how many bytes a host lacks that holds `count` layers of an image; at most the whole."""
    return min(size, sum(layer_sizes[count:])) if layer_sizes else size


def processor_problem(name: str, image: str, host: str) -> str | None:
    """Return why a host cannot run an image; image, host: what Docker calls their processors."""
    own = _PROCESSORS.get(host, host)
    if image == own:
        return None
    return (
        f"image {name} of the head is for {image}, expected one for {own}, the processor of this host; set "
        "container_image_distribution to pull, or build the image for both"
    )


def room_problem(
    name: str, folder: str, needed: int, free: int | None, *, receiving: bool
) -> str | None:
    """Return why an image finds no room; Docker gathers it in a file, and a receiver unpacks that, too."""
    needed *= 1 + receiving
    if free is None or free >= needed:
        return None
    how = "arrives (twice its size, as Docker unpacks it there)" if receiving else "is sent"
    return (
        f"image {name} needs {_weights_plan.amount(needed)} in {folder} while it {how}, got "
        f"{_weights_plan.amount(free)} free; make room there, as with docker image prune"
    )
