# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The lock as a file: taken by one, renewed, released, and what races do to it."""

from __future__ import annotations

import json
import multiprocessing
import pathlib
import stat
from multiprocessing.synchronize import Barrier
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _lock
from ansible_collections.samewire.vllm.plugins.modules import cluster_lock
from tests.unit.modules import run_module

ME = {"user": "ana", "controller": "laptop", "pid": 4711, "started": "100", "space": "boot"}
OTHER = {"user": "ben", "controller": "desk", "pid": 12, "started": "200", "space": "other"}
FORK = multiprocessing.get_context("fork")


def ask(directory: pathlib.Path, holder: dict[str, Any] = ME, **more: Any) -> dict[str, Any]:
    return run_module(
        "cluster_lock", cluster="pair", directory=str(directory), holder=holder, **more
    )


def test_one_has_it_until_it_is_released(tmp_path: pathlib.Path) -> None:
    base = tmp_path / "base"
    assert (ask(base)["changed"], ask(base)["lease"]) == (True, {})
    file = base / "pair.lock"
    assert stat.S_IMODE(base.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    refused = ask(base, OTHER)
    assert (refused["changed"], refused["lease"]["holder"]) == (False, ME)
    assert ask(base, OTHER, state="released")["changed"] is False
    assert json.loads(file.read_text())["holder"] == ME
    assert ask(base, state="released")["changed"] is True
    assert not base.exists()
    assert ask(base, state="released")["changed"] is False


def test_a_directory_that_holds_a_cluster_stays(tmp_path: pathlib.Path) -> None:
    base = tmp_path / "base"
    ask(base)
    (base / "pair").mkdir()
    ask(base, state="released")
    assert [entry.name for entry in base.iterdir()] == ["pair"]


def test_clusters_have_locks_of_their_own(tmp_path: pathlib.Path) -> None:
    ask(tmp_path)
    other = run_module("cluster_lock", cluster="b", directory=str(tmp_path), holder=OTHER)
    assert other["lease"] == {}


def test_a_lease_that_is_over_a_dead_holder_and_a_takeover(tmp_path: pathlib.Path) -> None:
    ask(tmp_path, seconds=-1)
    assert ask(tmp_path, OTHER)["lease"] == {}
    assert ask(tmp_path, ME)["lease"]["holder"] == OTHER
    assert ask(tmp_path, ME, dead={**OTHER, "started": "199"})["lease"]["holder"] == OTHER
    assert ask(tmp_path, ME, dead=OTHER)["lease"] == {}
    assert ask(tmp_path, OTHER, take_over=True)["lease"] == {}
    assert json.loads((tmp_path / "pair.lock").read_text())["holder"] == OTHER


def test_check_mode_takes_nothing_and_tells_the_truth(tmp_path: pathlib.Path) -> None:
    base = tmp_path / "base"
    free = ask(base, check=True)
    assert (free["changed"], free["lease"], base.exists()) == (False, {}, False)
    ask(base, OTHER)
    assert ask(base, check=True)["lease"]["holder"] == OTHER
    assert ask(base, OTHER, check=True, state="released")["changed"] is False
    assert (base / "pair.lock").exists()


def test_a_torn_file_is_nobodys(tmp_path: pathlib.Path) -> None:
    (tmp_path / "pair.lock").write_text('{"holder"')
    assert ask(tmp_path)["lease"] == {}


def test_a_link_is_not_followed(tmp_path: pathlib.Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    (tmp_path / "pair.lock").symlink_to(target)
    made = ask(tmp_path)
    assert made["failed"] is True
    assert made["msg"] == (
        f"{tmp_path}/pair.lock: the lock of the cluster cannot be kept: [Errno 40] Too many levels of "
        f"symbolic links: '{tmp_path}/pair.lock'"
    )
    assert target.read_text() == "precious"


def _race(path: str, number: int, ready: Barrier, won: Any) -> None:
    me = _lock.Holder("ana", "laptop", number)
    ready.wait()
    if cluster_lock.take(path, me, 60, None, False) is None:
        won.put(number)


def test_of_many_at_once_one_wins(tmp_path: pathlib.Path) -> None:
    for turn in range(20):
        path = str(tmp_path / str(turn) / "pair.lock")
        ready, won = FORK.Barrier(6), FORK.SimpleQueue()
        racers = [FORK.Process(target=_race, args=(path, n, ready, won)) for n in range(6)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        assert won.get() == cluster_lock.look(path).holder.pid  # type: ignore[union-attr]
        assert won.empty()


def _churn(path: str, number: int, ready: Barrier, inside: Any, broken: Any) -> None:
    me = _lock.Holder("ana", "laptop", number)
    ready.wait()
    done = 0
    while done < 50:
        if cluster_lock.take(path, me, 60, None, False) is None:
            # Whoever has the lock is alone between taking and releasing it.
            if not inside.acquire(block=False):
                broken.value = 1
                return
            inside.release()
            cluster_lock.release(path, me)
            done += 1


def test_taking_and_releasing_at_once_never_lets_two_in(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "base" / "pair.lock")
    ready, inside, broken = FORK.Barrier(3), FORK.Lock(), FORK.Value("i", 0)
    racers = [FORK.Process(target=_churn, args=(path, n, ready, inside, broken)) for n in range(3)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(60)
    assert [racer.exitcode for racer in racers] == [0, 0, 0]
    assert broken.value == 0
    assert not (tmp_path / "base").exists()
