# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a host has and lacks, read without an engine."""

from __future__ import annotations

import os
import pathlib
import socket

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


def test_node_info_sees_a_directory_that_cannot_be_made(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").touch()
    found = run_module(
        "node_info", cluster="c", image="i", directory=str(tmp_path / "file" / "new")
    )
    assert found["node"]["directory"]["writable"] is False
