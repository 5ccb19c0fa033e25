# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a host hands over: logs and states without secrets, and what could not be read."""

from __future__ import annotations

import json
import pathlib
import time
from typing import Any, ClassVar

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils import _bundle, _engine
from ansible_collections.samewire.vllm.plugins.modules import node_logs
from tests.unit.modules import run_module


class Engine:
    """Answers as an engine with one container."""

    ran_out: ClassVar[list[tuple[float, str]]] = []

    def __init__(self, restarts: int = 0) -> None:
        self._restarts = restarts

    def containers(self, label: str) -> list[dict[str, Any]]:
        assert label == "samewire.cluster=pair"
        return [{"Id": "1f"}, {"Id": "2f"}]

    def container(self, name: str) -> dict[str, Any]:
        return {
            "Name": {"1f": "/pair-vllm", "2f": "/pair-vllm-before"}[name],
            "State": {"Running": True},
            "RestartCount": self._restarts,
            "Config": {"Env": ["MY_TOKEN=of-the-environment", "VLLM_HOST_IP=10.0.0.1"]},
        }

    def out_of_memory(self, label: str, seconds: int) -> list[tuple[float, str]]:
        assert (label, seconds) == ("samewire.cluster=pair", 3600)
        return self.ran_out

    def log_tail(self, name: str, lines: int, *, timestamps: bool) -> list[str]:
        assert timestamps
        return [
            "2026-01-01T00:00:00.1Z of-the-file",
            "2026-01-01T00:00:01.1Z of-the-environment",
            "2026-01-01T00:00:02.1Z end",
        ]


@pytest.fixture
def directory(tmp_path: pathlib.Path) -> pathlib.Path:
    logs = tmp_path / "pair/ray/session_2026-01-02_00/logs"
    for folder in (
        logs,
        tmp_path / "pair/ray/session_2026-01-01_00/logs",
        tmp_path / "pair/secrets",
    ):
        folder.mkdir(parents=True)
    (tmp_path / "pair/secrets/ray_token").write_text("of-the-file")
    (logs / "worker-1.err").write_text("trouble of-the-file\n")
    (logs / "raylet.out").write_text("")
    (logs / "dashboard.log").write_text("not taken")
    # As Ray makes it: the path is that inside the container.
    (tmp_path / "pair/ray/session_latest").symlink_to("/tmp/ray/session_2026-01-02_00")
    return tmp_path


@pytest.fixture(autouse=True)
def kernel_log(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Stand in for the kernel's log: one record at most."""
    path = tmp_path / "kmsg"
    path.touch()
    monkeypatch.setattr(node_logs, "_KERNEL_LOG", str(path))
    return path


def test_logs_without_secrets(directory: pathlib.Path) -> None:
    made = node_logs.collect(Engine(), "pair", str(directory))  # type: ignore[arg-type]
    files = _bundle.unpack(made["packed"])
    assert sorted(files) == ["pair-vllm.inspect.json", "pair-vllm.log", "ray/worker-1.err"]
    assert files["pair-vllm.log"] == (
        "2026-01-01T00:00:00.1Z (hidden)\n2026-01-01T00:00:01.1Z (hidden)\n2026-01-01T00:00:02.1Z end"
    )
    assert files["ray/worker-1.err"] == "trouble (hidden)\n"
    state = json.loads(files["pair-vllm.inspect.json"])
    assert state["Config"]["Env"] == ["MY_TOKEN=(hidden)", "VLLM_HOST_IP=10.0.0.1"]
    assert made["tails"] == {}


def test_the_end_of_what_was_restarted(directory: pathlib.Path) -> None:
    made = node_logs.collect(Engine(restarts=2), "pair", str(directory))  # type: ignore[arg-type]
    assert made["tails"] == {"pair-vllm.log": ["(hidden)", "(hidden)", "end"]}


def test_a_host_without_an_engine_and_without_files(tmp_path: pathlib.Path) -> None:
    made = run_module("node_logs", cluster="pair", directory=str(tmp_path))
    assert made["changed"] is False
    assert _bundle.unpack(made["packed"]) == {
        "unread.json": json.dumps(["containers: /nowhere does not exist"], indent=2)
    }


def test_whom_the_kernel_killed(directory: pathlib.Path, kernel_log: pathlib.Path) -> None:
    now = int(time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6)
    kernel_log.write_text(f"6,1,{now},-;oom-kill:task_memcg=/docker/1f,task=python3,pid=7,uid=0\n")
    made = node_logs.collect(Engine(), "pair", str(directory))  # type: ignore[arg-type]
    assert _bundle.unpack(made["packed"])["kernel.log"].endswith(
        "] oom-kill:task_memcg=/docker/1f,task=python3,pid=7,uid=0"
    )


def test_a_kernel_log_that_may_not_be_read(
    directory: pathlib.Path, kernel_log: pathlib.Path
) -> None:
    kernel_log.unlink()
    made = node_logs.collect(Engine(), "pair", str(directory))  # type: ignore[arg-type]
    files = _bundle.unpack(made["packed"])
    (said,) = json.loads(files["unread.json"])
    assert said.startswith("kernel.log: [Errno 2] No such file or directory")
    assert "kernel.log" not in files


def test_the_engine_speaks_for_the_kernel(
    directory: pathlib.Path, kernel_log: pathlib.Path
) -> None:
    class Small(Engine):
        ran_out: ClassVar[list[tuple[float, str]]] = [
            (1796074000.5, "pair-ray"),
            (1796074020.5, "pair-ray"),
        ]

    kernel_log.unlink()
    made = node_logs.collect(Small(), "pair", str(directory))  # type: ignore[arg-type]
    assert _bundle.unpack(made["packed"])["kernel.log"] == (
        "2026-11-30T21:27:00Z docker event oom: container pair-ray"
    )


def test_an_engine_that_goes_away_leaves_the_files(directory: pathlib.Path) -> None:
    class Gone(Engine):
        def container(self, name: str) -> dict[str, Any]:
            raise _engine.EngineUnavailable("gone")

    made = node_logs.collect(Gone(), "pair", str(directory))  # type: ignore[arg-type]
    assert sorted(_bundle.unpack(made["packed"])) == ["ray/worker-1.err", "unread.json"]


def test_the_logs_of_ray_are_bounded(
    directory: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_logs, "_RAY_LOGS", 5)
    made = node_logs.collect(Engine(), "pair", str(directory))  # type: ignore[arg-type]
    files = _bundle.unpack(made["packed"])
    assert json.loads(files["unread.json"]) == ["ray/worker-1.err: the logs of Ray are too many"]
