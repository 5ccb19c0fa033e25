# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The entry point of every container, in folders that look like images do."""

from __future__ import annotations

import pathlib
import socket
import subprocess
import sys

import pytest

RUN = pathlib.Path(__file__).parents[3] / "roles/ray_node/files/node/run.sh"
SHELLS = [name for name in ("/bin/sh", "/bin/bash") if pathlib.Path(name).exists()]


def program(path: pathlib.Path, says: str, interpreter: str = "/bin/sh") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!{interpreter}\necho {says} "$@"\n')
    path.chmod(0o755)


def run(
    *arguments: str, shell: str = "/bin/sh", **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [shell, str(RUN), *arguments],
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("shell", SHELLS)
def test_programs_on_path(tmp_path: pathlib.Path, shell: str) -> None:
    program(tmp_path / "bin/ray", "ray")
    program(tmp_path / "bin/vllm", "vllm")
    done = run("ray", "start", "--head", shell=shell, PATH=f"{tmp_path}/bin:/usr/bin:/bin")
    assert (done.stdout, done.returncode) == ("ray start --head\n", 0)


def test_a_folder_with_both_wins_over_a_lone_ray_before_it(tmp_path: pathlib.Path) -> None:
    program(tmp_path / "system/ray", "system-ray")
    program(tmp_path / "venv/ray", "venv-ray")
    program(tmp_path / "venv/vllm", "venv-vllm")
    path = f"{tmp_path}/system:{tmp_path}/venv:/usr/bin:/bin"
    assert run("ray", "start", PATH=path).stdout == "venv-ray start\n"
    assert run("vllm", "serve", PATH=path).stdout == "venv-vllm serve\n"


def test_a_worker_image_without_vllm_still_has_its_ray(tmp_path: pathlib.Path) -> None:
    program(tmp_path / "bin/ray", "ray")
    assert run("ray", "status", PATH=f"{tmp_path}/bin:/usr/bin:/bin").stdout == "ray status\n"


def test_the_user_names_the_folder(tmp_path: pathlib.Path) -> None:
    program(tmp_path / "on-path/ray", "wrong")
    program(tmp_path / "named/ray", "right")
    done = run(
        "ray",
        "status",
        PATH=f"{tmp_path}/on-path:/usr/bin:/bin",
        SAMEWIRE_PROGRAMS=f"{tmp_path}/named",
    )
    assert done.stdout == "right status\n"


@pytest.mark.parametrize(("programs", "absent"), [([], "vllm"), (["vllm"], "ray")])
def test_what_an_image_lacks_is_named(
    tmp_path: pathlib.Path, programs: list[str], absent: str
) -> None:
    for name in programs:
        program(tmp_path / name, name)
    done = run("ray", "start", SAMEWIRE_PROGRAMS=str(tmp_path))
    assert done.returncode == 127
    assert done.stderr == (
        f"samewire: {socket.gethostname()}: the image has no program {absent} in any of {tmp_path}; use an "
        "image that contains it, or name its directory with ray_node_programs\n"
    )


def test_an_image_without_ray_still_serves(tmp_path: pathlib.Path) -> None:
    program(tmp_path / "lone/ray", "ray")
    program(tmp_path / "vllm", "vllm", interpreter=sys.executable)
    folders = f"{tmp_path}/lone:{tmp_path}"
    done = run("python", "-c", "import sys; print(sys.executable)", SAMEWIRE_PROGRAMS=folders)
    assert done.stdout.strip() == sys.executable


def test_python_is_the_interpreter_of_ray(tmp_path: pathlib.Path) -> None:
    program(tmp_path / "ray", "ray", interpreter=sys.executable)
    done = run("python", "-c", "import sys; print(sys.executable)", SAMEWIRE_PROGRAMS=str(tmp_path))
    assert done.stdout.strip() == sys.executable


def test_what_an_image_baked_in_is_removed_before_anything_starts(tmp_path: pathlib.Path) -> None:
    program(tmp_path / "ray", "ray")
    (tmp_path / "ray").write_text("#!/bin/sh\nenv\n")
    done = run(
        "ray",
        SAMEWIRE_PROGRAMS=str(tmp_path),
        SAMEWIRE_UNSET="NCCL_COMM_ID NCCL_IB_GID_INDEX",
        NCCL_COMM_ID="10.1.230.180:1",
        NCCL_IB_GID_INDEX="",
        NCCL_SOCKET_IFNAME="=eth0",
    )
    names = {line.split("=", 1)[0] for line in done.stdout.splitlines()}
    assert "NCCL_SOCKET_IFNAME" in names
    assert not names & {"NCCL_COMM_ID", "NCCL_IB_GID_INDEX", "SAMEWIRE_UNSET"}


def test_the_key_of_the_api_comes_from_a_file(tmp_path: pathlib.Path) -> None:
    program(tmp_path / "ray", "ray")
    said = '#!/bin/sh\necho "$VLLM_API_KEY" "${PYTHONPATH:-}" "${VLLM_USE_RUST_FRONTEND:-}"\n'
    (tmp_path / "ray").write_text(said)
    (tmp_path / "key").write_text("very-secret")
    given = {"SAMEWIRE_PROGRAMS": str(tmp_path), "SAMEWIRE_API_KEY_FILE": str(tmp_path / "key")}
    assert run("ray", **given).stdout == "very-secret /samewire/server 0\n"
    baked = run("ray", **given, PYTHONPATH="/own", VLLM_USE_RUST_FRONTEND="1")
    assert baked.stdout == "very-secret /samewire/server:/own 0\n"
    # What runs without the key, as Ray does, does not see the guard.
    assert run("ray", SAMEWIRE_PROGRAMS=str(tmp_path)).stdout == "  \n"
