# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Decide which host gives the weights to which others, and what is to be sent.

What a host has is what module weights_info returns for `whole`: files by name relative to the folder, each
with size and hash in full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _weights

# The refs of the hub's cache come last: with them a snapshot counts as whole.
_REFS = "refs/"


@dataclass(frozen=True)
class Delivery:
    """What one host lacks: files in the order in which they are put in place, and their bytes."""

    files: Mapping[str, Mapping[str, Any]]
    size: int


@dataclass(frozen=True)
class WeightsPlan:
    """Who sends and who receives.

    source: the host that sends, None where no host has the weights; size: bytes of the model; problems: a
    sentence for each thing that stands against it.
    """

    source: str | None
    size: int = 0
    receivers: Mapping[str, Delivery] = field(default_factory=dict)
    problems: Sequence[str] = ()


def plan(
    found: Mapping[str, Mapping[str, Any]], model: str, path: str, head: str, source: str = ""
) -> WeightsPlan:
    """Return who sends the weights to whom.

    found: what each host has; model: the hub id or the path of the model; path: where it lies on the
    hosts; head: gives the weights where several hosts have them; source: the host to take instead.
    """
    flaws = {host: _flaws(path, host, own) for host, own in found.items()}
    if source and (problem := _no_source(source, found, path)):
        return WeightsPlan(None, problems=[problem])
    if source and flaws[source]:
        return WeightsPlan(None, problems=flaws[source])
    present = sorted(host for host in found if found[host]["exists"])
    whole = [source] if source else [host for host in present if not flaws[host]]
    if not whole:
        return WeightsPlan(None, problems=_nobody(found, flaws, model, path, head))
    conflict = _conflict(found, whole, path)
    if conflict:
        return WeightsPlan(None, problems=[conflict])
    source = max(whole, key=lambda host: (_readable(found[host]), host == head))
    files = found[source]["files"]
    receivers = {
        host: delivery
        for host in sorted(found)
        if (delivery := _delivery(files, found[host].get("files", {}))).files
    }
    problems = [
        problem
        for host in sorted(found)
        for problem in (
            *_surplus(path, host, found[host], source, found[source]),
            *(_hindrances(path, host, found[host], receivers[host]) if host in receivers else ()),
        )
    ]
    if receivers and not found[source]["rsync"]:
        problems.append(_no_rsync(source))
    return WeightsPlan(source, _size(files), receivers, problems)


def notes(decided: WeightsPlan) -> list[str]:
    """Return what will be sent, a sentence for each receiver."""
    return [
        f"{host}: receives {amount(delivery.size)} of weights in {len(delivery.files)} files from "
        f"{decided.source} over the interconnect"
        for host, delivery in decided.receivers.items()
    ]


def amount(size: int) -> str:
    """Return a number of bytes for people: GB, MB below one, bytes below a million."""
    if size >= 1_000_000_000:
        return f"{size / 1_000_000_000:,.1f} GB"
    return f"{size / 1_000_000:,.1f} MB" if size >= 1_000_000 else f"{size:,} bytes"


def _flaws(path: str, host: str, own: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the weights of a host; one that has none has nothing wrong."""
    if not own["exists"]:
        return []
    said = list(_weights.own_problems(path, host, own))
    for name, (expected, got) in sorted(own["corrupt"].items()):
        said.append(
            f"{host}: {path}/{name} is damaged: expected SHA-256 {expected[:12]} by its name, got "
            f"{got[:12]}; remove it with: rm {path}/{name} on {host}, and run again"
        )
    for name, target in sorted(own["outside"].items()):
        said.append(
            f"{host}: {path}/{name} is a link to {target}, which the containers do not see, expected a file "
            f"within {path}; put the file itself there with: cp --remove-destination {target} {path}/{name} "
            f"on {host}"
        )
    return said


def _no_source(source: str, found: Mapping[str, Mapping[str, Any]], path: str) -> str | None:
    if source not in found:
        return (
            f"model_weights_source is {source}, expected one of {', '.join(sorted(found))}; correct it in "
            "the inventory"
        )
    if not found[source]["exists"]:
        return (
            f"{source}: {path} does not exist, expected the model there, since model_weights_source is "
            f"{source}; copy it to {source} or correct model_weights_source"
        )
    return None


def _nobody(
    found: Mapping[str, Mapping[str, Any]],
    flaws: Mapping[str, Sequence[str]],
    model: str,
    path: str,
    head: str,
) -> list[str]:
    """Return why no host can give the weights; nothing where the hub can complete them."""
    of_hub = not model.startswith("/")
    said = [
        sentence
        for host in sorted(found)
        for sentence in flaws[host]
        # A file that is there is not downloaded again.
        if not of_hub or found[host]["corrupt"]
    ]
    if said or of_hub:
        return said
    return [
        f"no host has the model: expected {path} on at least one of {', '.join(sorted(found))}; copy it to "
        f"{head}, correct vllm_server_model, or give a hub id"
    ]


def _conflict(
    found: Mapping[str, Mapping[str, Any]], hosts: Sequence[str], path: str
) -> str | None:
    """Return which file tells two hosts apart; that one lacks a file is no conflict."""
    seen: dict[str, str] = {}
    for host in hosts:
        for name, entry in sorted(found[host]["files"].items()):
            first = seen.setdefault(name, host)
            other = found[first]["files"][name]
            matters = _weights.is_read(name.rpartition("/")[2]) or name.startswith(_REFS)
            if matters and _content(other) != _content(entry):
                return (
                    f"{first} and {host} have different weights in {path}: {name} has {_told(other)} on "
                    f"{first} and {_told(entry)} on {host}; set model_weights_source to the host whose "
                    "weights are right"
                )
    return None


def _readable(own: Mapping[str, Any]) -> int:
    return sum(_weights.is_read(name.rpartition("/")[2]) for name in own["files"])


def _delivery(
    files: Mapping[str, Mapping[str, Any]], own: Mapping[str, Mapping[str, Any]]
) -> Delivery:
    lacking = {
        name: {"size": files[name]["size"], "hash": files[name]["hash"]}
        for name in sorted(files, key=lambda name: (name.startswith(_REFS), name))
        if name not in own or _content(own[name]) != _content(files[name])
    }
    return Delivery(lacking, _size(lacking))


def _surplus(
    path: str, host: str, own: Mapping[str, Any], source: str, origin: Mapping[str, Any]
) -> list[str]:
    """Return which weights a host has beside those of the source: vLLM would load them, too."""
    if not own["exists"] or own["base"] != origin["base"]:
        return []
    return [
        f"{host}: {path}/{name} is not among the files of {source}, and would be loaded, too; remove it "
        f"from {host}"
        for name in sorted(set(own["files"]) - set(origin["files"]))
        if name.endswith((*_weights.WEIGHTS, _weights.INDEX))
    ]


def _hindrances(path: str, host: str, own: Mapping[str, Any], delivery: Delivery) -> list[str]:
    said = []
    if not own["rsync"]:
        said.append(_no_rsync(host))
    if not own["writable"]:
        said.append(
            f"{host}: {path} cannot be written, expected a place for the weights that this user may write; "
            f"set ansible_become: true, or correct the permissions on {host}"
        )
    needed = delivery.size - own["staged"]
    if needed > own["free"]:
        said.append(
            f"{host}: {path} needs {amount(needed)} more, got {amount(own['free'])} free on its disk; make "
            f"room on {host}"
        )
    return said


def _no_rsync(host: str) -> str:
    return (
        f"{host}: rsync is not installed, expected it for the weights to go over the interconnect; install "
        f"it (Debian, Ubuntu: apt install rsync) on {host}"
    )


def _content(entry: Mapping[str, Any]) -> tuple[int, str]:
    return entry["size"], entry["hash"]


def _size(files: Mapping[str, Mapping[str, Any]]) -> int:
    return sum(entry["size"] for entry in files.values())


def _told(entry: Mapping[str, Any]) -> str:
    return f"{entry['size']:,} bytes with hash {entry['hash'][:12]}"
