# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Which containers a host has, and who decides."""

from __future__ import annotations

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _parts


@pytest.mark.parametrize(
    ("executor", "head", "worker"),
    [("ray", ("ray", "vllm"), ("ray",)), ("mp", ("vllm",), ("vllm",))],
)
def test_the_parts_of_a_host(executor: str, head: tuple[str], worker: tuple[str]) -> None:
    assert _parts.parts(executor, is_head=True) == head
    assert _parts.parts(executor, is_head=False) == worker


def test_what_was_deployed_is_what_the_heads_server_says() -> None:
    said = {"node0": {"containers": {"ray": None, "vllm": {"executor": "mp"}}}}
    assert _parts.deployed(said, "node0") == "mp"
    for silent in ({}, {"node0": {"unreachable": "x"}}, {"node0": {"containers": {"vllm": None}}}):
        assert _parts.deployed(silent, "node0") == "ray"
    # A container of before there was a choice.
    old = {"node0": {"containers": {"vllm": {"executor": None}}}}
    assert _parts.deployed(old, "node0") == "ray"


@pytest.mark.parametrize(
    ("wanted", "ray", "known", "before", "executor"),
    [
        ("ray", None, True, "mp", "ray"),
        ("mp", "2.60.0", True, "ray", "mp"),
        ("auto", "2.60.0", True, "mp", "ray"),
        ("auto", None, True, "ray", "mp"),
        # In check mode an image that is not there cannot be asked.
        ("auto", None, False, "mp", "mp"),
        ("auto", None, False, "", "ray"),
    ],
)
def test_the_choice(wanted: str, ray: str | None, known: bool, before: str, executor: str) -> None:
    assert _parts.chosen(wanted, ray, known=known, before=before) == executor


def test_ports_of_a_cluster_follow_each_other() -> None:
    assert list(_parts.ports(29501, replicas=1)) == [29501, _parts.lead_port(29501)]
    assert list(_parts.ports(29501, replicas=2))[2:] == [_parts.data_port(29501)]
