# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A new inventory: what its author answers, judged, and what the hosts add to that."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.samewire.vllm.plugins.filter.desired_state import desired_state
from ansible_collections.samewire.vllm.plugins.module_utils import (
    _forms,
    _presets,
    _proposal,
)

REQUIRED = ("container_image_name", "vllm_server_model")
TENSOR, PIPELINE = "vllm_server_tensor_parallel_size", "vllm_server_pipeline_parallel_size"

_ADDRESS = re.compile(r"[A-Za-z0-9\[:][A-Za-z0-9_.:%\]-]*")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@\\-]*\$?")
_TEMPLATE = re.compile(r"\{[{%#]")


@dataclass(frozen=True)
class Member:
    """A host as Ansible names it, and where ssh reaches it; empty where its name says that, too."""

    name: str
    address: str = ""

    @classmethod
    def parse(cls, text: str) -> Member:
        """Return the host of HOST or HOST=ADDRESS."""
        name, _, address = text.partition("=")
        return cls(name, address)


@dataclass(frozen=True)
class Answers:
    """What the author of an inventory wants; user and network are empty where nothing is to be said."""

    name: str
    head: Member
    workers: tuple[Member, ...]
    image: str
    model: str
    user: str = ""
    network: str = ""

    @property
    def members(self) -> tuple[Member, ...]:
        """All hosts, the head first."""
        return (self.head, *self.workers)

    def connection(self) -> dict[str, str]:
        """Return what all hosts share of how they are reached."""
        return {"ansible_user": self.user} if self.user else {}

    def cluster(self) -> dict[str, str]:
        """Return the variables of the cluster."""
        pinned = {"interconnect_network": self.network} if self.network else {}
        return {"cluster_name": self.name, "container_image_name": self.image, **pinned}


@dataclass(frozen=True)
class Found:
    """What was found on the hosts, and what follows from that; empty where none was asked.

    presets: lines about the hardware.
    """

    plan: Mapping[str, Any] = field(default_factory=dict)
    proposal: _proposal.Proposal | None = None
    presets: tuple[str, ...] = ()
    asked: bool = False


def member_problem(member: Member) -> str | None:
    """Return the sentence for a host that can be none, else None."""
    # Ansible reads what follows a colon as a port.
    if ":" in member.name or _forms.host_problem(member.name):
        return (
            f"{_forms.shown(member.name)}: is no name for a host, expected a letter or a digit, then "
            "letters, digits, '_', '.' and '-'; give its address behind it, as spark0=10.1.230.180"
        )
    if member.address and not _ADDRESS.fullmatch(member.address):
        return (
            f"{member.name}: its address is {_forms.shown(member.address)}, expected one of IPv4 or IPv6, or "
            "a name that ssh knows; correct it"
        )
    return None


def problems(answers: Answers) -> list[str]:
    """Return what is wrong with an inventory, a sentence each, as a deployment would judge it."""
    found = list(filter(None, map(member_problem, answers.members)))
    names = [member.name for member in answers.members]
    found += [
        f"{name}: is named {names.count(name)} times, expected each host once; leave out the others"
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    if found:
        return found
    if answers.user and not _USER.fullmatch(answers.user):
        found.append(_all("ansible_user", answers.user, "the name of an account"))
    if answers.network and not _is_network(answers.network):
        found.append(_all("interconnect_network", answers.network, "a network as 192.168.200.0/24"))
    variables = {**answers.cluster(), "vllm_server_model": answers.model}
    found += [
        _all(name, value, "plain text, as '{{', '{%' and '{#' begin a template")
        for name, value in variables.items()
        if _TEMPLATE.search(str(value))
    ]
    # All have the same variables, so those of the head stand for all.
    judged = desired_state(dict.fromkeys(names, variables), names[:1], names[1:], list(REQUIRED))[
        "problems"
    ]
    own = f"{names[0]}: "
    return found + [
        sentence.removeprefix(own).removesuffix(" in the inventory")
        for sentence in judged
        if sentence.startswith(own)
    ]


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True


def _all(name: str, value: object, expected: str) -> str:
    return f"variable {name} is {_forms.shown(value)}, expected {expected}; correct it"


def found(
    plan: Mapping[str, Any],
    gpus: Mapping[str, Sequence[Mapping[str, Any]] | None],
    counts: Mapping[str, int],
) -> Found:
    """Return what follows from a plan and the GPUs.

    gpus: by host, as module node_info found them; counts: how many each host will announce.
    """
    alike: dict[tuple[str, str], list[str]] = {}
    for host, own in gpus.items():
        choice = _presets.choose(_presets.AUTO, own)
        alike.setdefault((choice.name, choice.because), []).append(host)
    lines = [
        f"{preset} on {', '.join(hosts)}, since {why}" for (preset, why), hosts in alike.items()
    ]
    proposal = _proposal.propose(counts, rdma=plan.get("transport") == "rdma")
    return Found(plan, proposal, tuple(lines), asked=True)
