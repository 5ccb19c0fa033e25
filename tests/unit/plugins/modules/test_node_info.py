# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a host has and lacks, read without an engine."""

from __future__ import annotations

import os
import pathlib
import socket
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.modules import node_info
from tests.unit.modules import run_module


def test_node_info_without_an_engine_is_a_fact_and_no_failure(tmp_path: pathlib.Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = run_module(
            "node_info",
            cluster="c",
            image="i:1",
            ports=[port, 1],
            paths=[str(tmp_path), str(tmp_path / "absent")],
            directory=str(tmp_path / "new"),
        )
    assert found["changed"] is False
    node = found["node"]
    assert node["docker"] == {"version": None, "reason": "/nowhere does not exist"}
    assert list(node["ports"]) == [str(port)]
    assert node["ports"][str(port)].endswith(f"(pid {os.getpid()})")
    assert node["paths"] == {str(tmp_path): True, str(tmp_path / "absent"): False}
    assert node["directory"] == {"path": str(tmp_path / "new"), "writable": True}
    assert not (tmp_path / "new").exists()
    shm = os.statvfs("/dev/shm")
    assert node["shm"] == shm.f_frsize * shm.f_blocks
    assert sorted(node["rdma"]) == ["devices", "memlock"]


@pytest.mark.parametrize(
    ("capabilities", "hard", "limit"),
    [
        ("000001ffffffffff", "65536", None),
        ("000000fffeffffff", "65536", 65536),
        ("000000fffeffffff", "unlimited", None),
    ],
)
def test_how_much_the_engine_may_let_a_container_lock(
    monkeypatch: pytest.MonkeyPatch, capabilities: str, hard: str, limit: int | None
) -> None:
    files = {
        "/proc/1/comm": "init\n",
        "/proc/9/comm": "dockerd\n",
        "/proc/9/status": f"Name:\tdockerd\nCapEff:\t{capabilities}\n",
        "/proc/9/limits": f"Max locked memory         65536                {hard}    bytes\n",
    }
    monkeypatch.setattr(node_info, "_processes", lambda: [1, 9])
    monkeypatch.setattr(node_info, "_read", lambda path: files.get(path, ""))
    assert node_info._memlock() == limit


def test_node_info_sees_a_directory_that_cannot_be_made(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").touch()
    found = run_module(
        "node_info", cluster="c", image="i", directory=str(tmp_path / "file" / "new")
    )
    assert found["node"]["directory"]["writable"] is False


def test_a_port_is_somebody_elses_or_served_by_the_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = "4f" * 32
    files = {
        "/proc/7/cgroup": f"0::/docker/{own}\n",
        "/proc/8/cgroup": "0::/system.slice\n",
        "/proc/8/comm": "nginx\n",
    }
    monkeypatch.setattr(node_info, "_listeners", lambda _: {8000: 70, 6379: 80, 8265: 90})
    monkeypatch.setattr(node_info, "_owner", {70: 7, 80: 8, 90: None}.get)
    monkeypatch.setattr(node_info, "_read", lambda path: files.get(path, ""))
    assert node_info._held([8000, 6379, 8265], {own}) == ({"6379": "nginx (pid 8)"}, [8000])
    taken, served = node_info._held([8000, 6379, 8265], set())
    assert (sorted(taken), served) == (["6379", "8000", "8265"], [])


class Engine:
    """Answers as an engine with one container of each kind."""

    def container(self, name: str) -> dict[str, Any] | None:
        own = {"samewire.cluster": "b"}
        labels: dict[str, dict[str, str]] = {"a-ray": {}, "b-ray": own, "c-vllm": own}
        return {"Config": {"Labels": labels[name]}} if name in labels else None

    def containers(self, label: str) -> list[dict[str, Any]]:
        assert label == "samewire.cluster=b"
        return [{"Id": "1f", "Names": ["/b-ray"]}, {"Id": "2f", "Names": ["/b-ray-before"]}]


def test_the_containers_of_the_cluster() -> None:
    assert node_info._own_containers(Engine(), "b") == {"1f": "b-ray", "2f": "b-ray-before"}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cluster", "owners"),
    [("a", {"ray": None}), ("b", {"ray": "b"}), ("c", {"vllm": "b"}), ("d", {})],
)
def test_whose_containers_bear_our_names(cluster: str, owners: dict[str, str | None]) -> None:
    found = node_info._named(Engine(), cluster)  # type: ignore[arg-type]
    assert {part: node_info._owner_cluster(state) for part, state in found.items()} == owners


def gpus(
    monkeypatch: pytest.MonkeyPatch, folder: pathlib.Path, script: str | None
) -> dict[str, Any]:
    if script is not None:
        program = folder / "nvidia-smi"
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")
    found = run_module("node_info", cluster="c", image="i:1", directory=str(folder))
    return dict(found["node"]["gpus"])


def test_the_gpus_that_nvidia_smi_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    # It prints what it was asked for, too: the query is part of the fact.
    script = (
        '[ "$1 $2" = "--query-gpu=name,memory.total,compute_cap --format=csv,noheader,nounits" ] && '
        'echo "NVIDIA L4, 23034, 8.9"'
    )
    l4 = {"name": "NVIDIA L4", "memory": 23034 << 20, "capability": 8.9, "shared": False}
    assert gpus(monkeypatch, tmp_path, script) == {"found": [l4], "reason": None}


def test_gpus_that_are_not_known_are_a_fact_with_a_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    assert gpus(monkeypatch, tmp_path, None) == {
        "found": None,
        "reason": "no nvidia-smi on this host",
    }
    assert gpus(monkeypatch, tmp_path, "echo no driver; exit 9") == {
        "found": None,
        "reason": "no driver",
    }


def test_what_other_modules_read_comes_only_where_it_is_asked_for(tmp_path: pathlib.Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    asked = {"cluster": "c", "image": "i", "directory": str(tmp_path)}
    assert {"facts", "weights"}.isdisjoint(run_module("node_info", **asked))
    weights = {"path": str(tmp_path), "exclude": ["*.bin"]}
    found = run_module("node_info", **asked, interconnect=True, weights=weights)
    assert found["facts"] == run_module("interconnect_info")["facts"]
    assert found["weights"] == {
        **run_module("weights_info", **weights)["weights"],
        "free": found["weights"]["free"],
    }
