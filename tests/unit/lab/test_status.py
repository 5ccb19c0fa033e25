# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The status of a machine on which nothing runs, and the memory that is counted."""

import json

import pytest
from typer.testing import CliRunner

from samewire_lab import cli, engine, spec, status
from samewire_lab.state import State


@pytest.fixture
def _no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "connect", lambda: None)


@pytest.mark.usefixtures("_no_engine")
def test_nothing_runs(state: State) -> None:
    now = status.read(state)
    assert not now.up
    assert now.engine is None
    assert now.registry is None
    assert [host.state for host in now.hosts] == ["absent", "absent"]
    assert not any(now.networks.values())


@pytest.mark.usefixtures("_no_engine")
def test_json_and_the_exit_code() -> None:
    done = CliRunner().invoke(cli.app, ["status", "--json"])
    shown = json.loads(done.stdout)
    assert done.exit_code == 1
    assert shown["schema"] == "samewire.lab/1"
    assert shown["up"] is False
    assert [host["name"] for host in shown["hosts"]] == [host.name for host in spec.HOSTS]


@pytest.mark.usefixtures("_no_engine")
def test_the_table_of_a_machine_without_an_engine() -> None:
    done = CliRunner().invoke(cli.app, ["status"])
    lines = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
    assert ["lab", "down"] in [[word.strip() for word in line] for line in lines]
    assert ["engine", "none runs"] in [[word.strip() for word in line] for line in lines]


def test_memory_counts_no_page_cache() -> None:
    v1 = "cache 900\nrss 7\nshmem 3\ntotal_cache 9000\ntotal_rss 700\ntotal_shmem 30\n"
    v2 = "anon 700\nfile 9000\nshmem 30\ninactive_file 5000\n"
    assert status.occupied(v1) == 730
    assert status.occupied(v2) == 730


def test_no_memory_file_is_no_memory() -> None:
    assert status.occupied("") == 0
