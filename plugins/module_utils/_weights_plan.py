# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Decide which host gives the weights to which others, and what is to be sent.

What a host has is what module weights_info returns: files by name relative to the folder, each with size and
hash. By samples it is decided whether a deployment can work, before anything is changed; by hashes in full
what is sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    sentence for each thing that stands against it, at most one for each host; flaws: why what is there does
    not count as the model; settled: all hosts are known to have the same, so nothing is to be done; model:
    its config and the sizes of its files, as far as they are known.
    """

    source: str | None
    size: int = 0
    receivers: Mapping[str, Delivery] = field(default_factory=dict)
    problems: Sequence[str] = ()
    flaws: Sequence[str] = ()
    settled: bool = False
    model: Mapping[str, Any] = field(default_factory=dict)


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
        return WeightsPlan(None, problems=flaws[source][:1])
    present = sorted(host for host in found if found[host]["exists"])
    whole = [source] if source else [host for host in present if not flaws[host]]
    if not whole:
        said = [sentence for host in sorted(flaws) for sentence in flaws[host][:1]]
        return WeightsPlan(None, problems=_nobody(found, said, model, path, head), flaws=said)
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
    problems = []
    for host in sorted(found):
        against = _surplus(path, host, found[host], source, found[source])
        if host in receivers:
            against += _hindrances(path, host, found[host], receivers[host].size)
        elif host == source and receivers and not found[source]["rsync"]:
            against.append(_no_rsync(source))
        problems += against[:1]
    return WeightsPlan(
        source,
        _size(files),
        receivers,
        problems,
        settled=not receivers and not problems and _settled(files, found),
        model={
            "config": found[source].get("config"),
            "files": _weights.model_files(found[source]),
        },
    )


def _settled(
    files: Mapping[str, Mapping[str, Any]], found: Mapping[str, Mapping[str, Any]]
) -> bool:
    """Return whether all hosts are known to have the same files, without hashing any of them again."""
    alone = len(found) == 1
    return (
        alone
        or _shared(found)
        or all(
            entry["full"] is not None and own["files"][name]["full"] == entry["full"]
            for own in found.values()
            for name, entry in files.items()
        )
    )


def _shared(found: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether all hosts see one place on a network file system."""
    mounts = {own["mount"] for own in found.values()}
    return len(mounts) == 1 and None not in mounts


def from_hub(
    lacking: WeightsPlan,
    found: Mapping[str, Mapping[str, Any]],
    path: str,
    download: Mapping[str, Any],
) -> WeightsPlan:
    """Return what stands against a download and its way to the other hosts.

    lacking: the plan that found no host to send; download: what filter hub_downloader returned.
    """
    size = _size(download["files"])
    sent = len(found) > 1 and not _shared(found)
    problems = list(download["problems"])
    if not problems:
        for host in sorted(found):
            problems += _hindrances(path, host, found[host], size, rsync=sent)[:1]
    model = {"config": download["config"], "files": download["files"]}
    return replace(lacking, size=size, problems=problems, model=model)


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
            f"on {host}, or, where ray_node_mounts lets them see it, set model_weights_sync: false"
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
    found: Mapping[str, Mapping[str, Any]], flaws: Sequence[str], model: str, path: str, head: str
) -> Sequence[str]:
    """Return why no host can give the weights; nothing where the hub can complete them."""
    if not model.startswith("/"):
        return []
    return flaws or [
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


def _hindrances(
    path: str, host: str, own: Mapping[str, Any], size: int, *, rsync: bool = True
) -> list[str]:
    said = []
    if rsync and not own["rsync"]:
        said.append(_no_rsync(host))
    if not own["writable"]:
        said.append(
            f"{host}: {path} cannot be written, expected a place for the weights that this user may write; "
            f"set ansible_become: true, or correct the permissions on {host}"
        )
    needed = size - own["staged"]
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
