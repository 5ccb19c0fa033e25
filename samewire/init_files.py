# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The files of a new inventory, each line with the reason for it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from samewire.init import PIPELINE, TENSOR, Answers, Found, Member

WIDTH = 110
# PyYAML folds what is wider, and a comment would then stand within a value.
_UNFOLDED = 1 << 20


def sizes(answers: Answers, found: Found) -> dict[str, int]:
    """Return the parallel sizes that are written, without those that are 1 beside another."""
    if found.proposal is None:
        return {PIPELINE: len(answers.members)}
    own = found.proposal.sizes
    if own.pipeline == 1:
        return {TENSOR: own.tensor}
    return {**({TENSOR: own.tensor} if own.tensor > 1 else {}), PIPELINE: own.pipeline}


def render(answers: Answers, found: Found) -> dict[str, str]:
    """Return the text of each file, by its path in the folder."""
    files = {"hosts.yml": _hosts(answers)}
    if answers.user:
        files["group_vars/all/connection.yml"] = _text(
            [_line("ansible_user", answers.user, "the account: root, or one that may use Docker")]
        )
    files["group_vars/all/cluster.yml"] = _text(_cluster(answers, found))
    files["group_vars/all/model.yml"] = _text(_model(answers, found))
    return files


def _hosts(answers: Answers) -> str:
    lines = [
        "# How ssh reaches the hosts, over any network; the interconnect is found, not written.",
        "ray_head: # one host, which also runs the API",
        "  hosts:",
        *_member(answers.head),
    ]
    if answers.workers:
        lines += ["ray_workers: # the others add their GPUs", "  hosts:"]
        for worker in answers.workers:
            lines += _member(worker)
    return _text(lines)


def _member(member: Member) -> Iterator[str]:
    own = {"ansible_host": member.address} if member.address else {}
    why = "the address for ssh" if own else "ssh knows it by its name"
    dumped = yaml.safe_dump({member.name: own}, width=_UNFOLDED, default_flow_style=None)
    *rest, last = dumped.rstrip("\n").split("\n")
    yield from (f"    {line}" for line in rest)
    yield f"    {last} # {why}"


def _cluster(answers: Answers, found: Found) -> Iterator[str]:
    yield _line("cluster_name", answers.name, "begins the names of containers and files")
    yield _line("container_image_name", answers.image, "has vLLM, and Ray unless you do without")
    if answers.network:
        yield _line("interconnect_network", answers.network, "pinned, as you asked for it")
    if not found.asked:
        yield from _comment(
            "Nothing was asked of the hosts; samewire plan says what they will use."
        )
        return
    network = found.plan["network"]
    mtu = f", MTU {network['mtu']}" if network["mtu"] else ""
    because = "; ".join(network["chosen_because"])
    yield from _comment(
        f"Found, so not written: network {network['cidr'] or 'not stated'} ({found.plan['transport']}{mtu}), "
        f"because {because}."
    )
    for preset in found.presets:
        yield from _comment(f"Found, so not written: hardware_preset {preset}.")


def _model(answers: Answers, found: Found) -> Iterator[str]:
    local = answers.model.startswith(("/", "~"))
    yield _line(
        "vllm_server_model",
        answers.model,
        "a path that exists on at least one host" if local else "of the hub; downloaded once",
    )
    if found.proposal is not None:
        because = {TENSOR: found.proposal.tensor_because, PIPELINE: found.proposal.pipeline_because}
    elif found.asked:
        because = {
            PIPELINE: "a stage a host, as no GPU was found on some; correct it, or set ray_node_gpus"
        }
    else:
        because = {PIPELINE: "a stage a host, as if each had one GPU; correct it to what they have"}
    for name, size in sizes(answers, found).items():
        yield _line(name, size, because[name])


def _line(name: str, value: Any, why: str) -> str:
    dumped = yaml.safe_dump({name: value}, width=_UNFOLDED, allow_unicode=True).rstrip("\n")
    line = f"{dumped} # {why}"
    return line if len(line) <= WIDTH else f"# {why}\n{dumped}"


def _comment(text: str) -> list[str]:
    """Return a text that others wrote as lines of comments: whatever is in it, none ends early."""
    printable = "".join(each if each.isprintable() else " " for each in text)
    return textwrap.wrap(
        " ".join(printable.split()), WIDTH, initial_indent="# ", subsequent_indent="#   "
    )


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
