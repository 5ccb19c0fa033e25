# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""When the lab can start an engine itself, and what it says when it cannot."""

import json
import os
from dataclasses import replace

import pytest

from samewire_lab import engine
from samewire_lab.engine import Machine
from samewire_lab.state import State

DEBIAN = Machine(system="Linux", architecture="x86_64", apt=True, root=True, systemd=False)
FEDORA = replace(DEBIAN, apt=False, systemd=True)


@pytest.mark.parametrize(
    ("machine", "missing", "runs"),
    [
        (DEBIAN, [], True),
        (DEBIAN, ["dockerd", "iptables", "debootstrap"], False),
        (replace(DEBIAN, systemd=True), ["dockerd"], False),
        (FEDORA, [], True),
    ],
)
def test_where_it_can(machine: Machine, missing: list[str], runs: bool) -> None:
    assert engine.refusal(machine, missing, runs) is None


@pytest.mark.parametrize(
    ("machine", "missing", "runs", "sentence"),
    [
        (
            replace(DEBIAN, system="Darwin", architecture="arm64"),
            [],
            True,
            "The lab runs on Linux on x86-64, this machine is Darwin on arm64; run it in a virtual "
            "machine or on another machine.",
        ),
        (
            replace(DEBIAN, root=False),
            [],
            True,
            "The lab builds root file systems and networks; run it as root, for example with sudo.",
        ),
        (
            FEDORA,
            ["debootstrap", "ssh"],
            True,
            "The lab needs debootstrap, ssh and installs them on Debian and Ubuntu only; install "
            "them with this system's package manager, start Docker Engine, and run it again.",
        ),
        (
            FEDORA,
            [],
            False,
            "No Docker Engine answers on this machine; start it and run the lab again.",
        ),
    ],
)
def test_where_it_cannot(machine: Machine, missing: list[str], runs: bool, sentence: str) -> None:
    assert engine.refusal(machine, missing, runs) == sentence


def test_an_engine_that_the_lab_did_not_start(state: State) -> None:
    assert engine.started_by_lab(state) is None


def test_an_engine_that_systemd_started_for_the_lab(state: State) -> None:
    state.engine.write_text(json.dumps({"started": "systemd"}))
    assert engine.started_by_lab(state) == "systemd"


def test_a_process_number_that_belongs_to_another_program(state: State) -> None:
    state.engine.write_text(json.dumps({"started": "dockerd", "pid": os.getpid()}))
    assert engine.started_by_lab(state) is None
