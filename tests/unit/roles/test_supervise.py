# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The server runs as if it were alone, and is ended where it lost a rank and does not end by itself."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parents[3] / "roles/ray_node/files/node"
DIED = "print('RayWorkerProc rank=[1] died unexpectedly, shutting down executor.', flush=True)"


def supervised(server: str, grace: float = 0.2) -> subprocess.Popen[str]:
    program = (
        "import supervise, sys; "
        f"supervise.end.__defaults__ = ({grace}, {grace}); "
        f"sys.exit(supervise.run([sys.executable, '-c', {server!r}]))"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program], cwd=FOLDER, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize(
    ("server", "said", "status"),
    [
        ("print('hello')", "hello\n", 0),
        ("import sys; print('out'); sys.stdout.flush(); sys.exit('err')", "out\nerr\n", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "", 137),
        # It ends by itself after the death of a rank.
        (DIED, "RayWorkerProc rank=[1] died unexpectedly, shutting down executor.\n", 0),
    ],
)
def test_output_and_exit_status_are_the_servers_own(server: str, said: str, status: int) -> None:
    with supervised(server, grace=30) as process:
        assert process.communicate(timeout=20)[0] == said
        assert process.returncode == status


@pytest.mark.parametrize(
    ("deaf", "status"), [("", 143), ("signal.signal(signal.SIGTERM, signal.SIG_IGN);", 137)]
)
def test_a_server_that_lost_a_rank_is_ended(deaf: str, status: int) -> None:
    with supervised(f"import signal; {deaf} {DIED}; signal.pause()") as process:
        said = process.communicate(timeout=20)[0]
    assert said.splitlines()[1] == (
        "samewire: a rank died 0.2 s ago and the server has not ended; ending it, to begin anew"
    )
    assert process.returncode == status


def test_a_signal_is_passed_on() -> None:
    server = (
        "import signal, sys; signal.signal(15, lambda *_: sys.exit(3)); "
        "print('up', flush=True); signal.pause()"
    )
    with supervised(server) as process:
        assert process.stdout
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 3


def test_what_the_server_leaves_behind_ends_with_it() -> None:
    left = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
    with supervised(left) as process:
        assert process.communicate(timeout=20)[0] == ""
        assert process.returncode == 0
