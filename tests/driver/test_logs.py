# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The verb logs, on programs ssh and docker that play two hosts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from typer.testing import CliRunner

from samewire import cli, inventory, locate, logs, logs_command
from samewire.connection import ConnectionProblem, connection

HOSTS = """\
ray_head:
  hosts:
    spark0: {ansible_host: 10.0.0.10}
ray_workers:
  hosts:
    spark1: {ansible_host: 10.0.0.11, ansible_become: true}
all:
  vars: {cluster_name: pair, ansible_user: ops, vllm_server_api_key: key-of-the-api}
"""
# It passes on what the shell of the other end would be given.
SSH = """\
#!/bin/sh
while [ "$1" != -- ]; do shift; done
[ -d "$HOSTS/$2" ] || { echo "ssh: connect to host $2 port 22: No route to host" >&2; exit 255; }
HOST=$2 exec sh -c "$3"
"""
SUDO = """\
#!/bin/sh
[ "$1 $2 $3 $4" = "-n -u root --" ] || exit 9
shift 4
exec "$@"
"""
DOCKER = """\
#!/bin/sh
echo "$HOST $*" >>"$HOSTS/called"
cd "$HOSTS/$HOST" || exit 1
case "$1 $*" in
  ps*) [ ! -e broken ] || { echo "Cannot connect to the Docker daemon." >&2; exit 1; }
       for log in *.log; do [ "$log" = "*.log" ] || echo "${log%.log}"; done ;;
  *--follow*) for name; do :; done; echo $$ >"$name.pid"; exec tail -n +1 -f "$name.log" ;;
  *) for name; do :; done; cat "$name.log" ;;
esac
"""
HEAD = """\
2026-11-30T13:00:01.100000000Z head one
2026-11-30T13:00:03.100000000Z \x1b[36m(Worker_TP1 pid=7)\x1b[0m loaded\x07
2026-11-30T13:00:03.200000000Z  10%\r 100% done\r
2026-11-30T13:00:05.100000000Z HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz and key-of-the-api
"""
WORKER = """\
2026-11-30T13:00:02.100000000Z worker two
2026-11-30T14:00:04.100000000+01:00 RayWorkerProc rank=1 said ü
"""
PRINTED = """\
spark0 pair-vllm        | head one
spark1 pair-ray         | worker two
spark0 pair-vllm rank 1 | (Worker_TP1 pid=7) loaded
spark0 pair-vllm        |  100% done
spark1 pair-ray  rank 1 | RayWorkerProc rank=1 said ü
spark0 pair-vllm        | HF_TOKEN=(hidden) and (hidden)
"""
UNREACHABLE = (
    "spark1: cannot be reached over SSH at ops@10.0.0.11 (ssh: connect to host 10.0.0.11 port 22: No route "
    "to host); check ansible_host, ansible_user and the key with: ssh ops@10.0.0.11\n"
)


LISTED: dict[str, Any] = {}
_listed = inventory._listed


def listed(text: str, path: Path) -> dict[str, Any]:
    """Return what Ansible reads of an inventory; asking it takes a second."""
    if text not in LISTED:
        LISTED[text] = _listed(path, locate.collection())
    return dict(LISTED[text])


@pytest.fixture
def hosts(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the hosts, each a folder of logs by its address."""
    programs, folder = tmp_path / "bin", tmp_path / "hosts"
    programs.mkdir()
    for name, text in (("ssh", SSH), ("sudo", SUDO), ("docker", DOCKER)):
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)
    for address, name, text in (
        ("10.0.0.10", "pair-vllm", HEAD),
        ("10.0.0.10", "pair-vllm-before", "2026-11-30T12:00:00.1Z of before\n"),
        ("10.0.0.11", "pair-ray", WORKER),
    ):
        (folder / address).mkdir(parents=True, exist_ok=True)
        (folder / address / f"{name}.log").write_text(text, encoding="utf-8")
    (tmp_path / "hosts.yml").write_text(HOSTS, encoding="utf-8")
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOSTS", str(folder))
    monkeypatch.setattr(inventory, "_listed", lambda path, _: listed(path.read_text(), path))
    return folder


@pytest.fixture
def call(hosts: Path) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs the verb: exit status, output, and what it says beside that."""

    def run(*arguments: str) -> tuple[int, str, str]:
        command = ["logs", "-i", str(hosts.parent / "hosts.yml"), *arguments]
        done = CliRunner().invoke(cli.app, command, catch_exceptions=False)
        return done.exit_code, done.stdout, done.stderr

    return run


def gone(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()


def test_the_lines_of_all_hosts_by_time(call: Any) -> None:
    assert call() == (0, PRINTED, "")


def test_an_object_a_line(call: Any) -> None:
    code, out, _ = call("--json", "spark1")
    assert (code, [json.loads(line) for line in out.splitlines()]) == (
        0,
        [
            {
                "time": "2026-11-30T13:00:02.100000000Z",
                "host": "spark1",
                "container": "pair-ray",
                "rank": None,
                "text": "worker two",
            },
            {
                "time": "2026-11-30T13:00:04.100000Z",
                "host": "spark1",
                "container": "pair-ray",
                "rank": 1,
                "text": "RayWorkerProc rank=1 said ü",
            },
        ],
    )


def test_what_docker_is_asked_for(call: Any, hosts: Path) -> None:
    code, out, _ = call("--tail", "3", "--since", "1h30m", "-t", "spark1")
    assert (code, out.splitlines()[0]) == (
        0,
        "2026-11-30T13:00:02.100000000Z spark1 pair-ray        | worker two",
    )
    assert (hosts / "called").read_text(encoding="utf-8").splitlines() == [
        "10.0.0.11 ps --all --filter label=samewire.cluster=pair --format {{.Names}}",
        "10.0.0.11 logs --timestamps --tail=3 --since=1h30m -- pair-ray",
    ]


def test_a_host_that_is_gone_leaves_the_others(call: Any, hosts: Path) -> None:
    gone(hosts / "10.0.0.11")
    rest = "".join(line for line in PRINTED.splitlines(True) if line.startswith("spark0"))
    assert call() == (4, rest, UNREACHABLE)


def test_a_host_without_docker(call: Any, hosts: Path) -> None:
    (hosts / "10.0.0.11" / "broken").touch()
    assert call("spark1") == (
        4,
        "",
        "spark1: its containers cannot be read, expected that Docker answers there, got: Cannot connect to "
        "the Docker daemon; let its user use Docker, or set ansible_become: true in the inventory\n",
    )


def test_a_cluster_that_is_not_there(call: Any, hosts: Path) -> None:
    for log in hosts.rglob("*.log"):
        log.unlink()
    assert call() == (
        1,
        "",
        "pair has no container on spark0, spark1: expected some, got none; run 'samewire deploy' first.\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["spark2"],
            "Invalid value for HOST: expected hosts of the inventory (spark0, spark1), got spark2",
        ),
        (
            ["--since", "10 minutes"],
            "Invalid value for '--since': expected a time as 10m, 1h30m or 2026-11-30T13:00:00Z, got "
            "10 minutes",
        ),
    ],
)
def test_wrong_usage(call: Any, arguments: list[str], message: str) -> None:
    code, _, said = call(*arguments)
    assert (code, said.splitlines()[-1]) == (2, f"Error: {message}")


def test_hosts_outside_of_the_groups(call: Any, hosts: Path) -> None:
    file = hosts.parent / "hosts.yml"
    file.write_text("all: {hosts: {a: {cluster_name: pair}}}\n", encoding="utf-8")
    assert call() == (
        3,
        "",
        f"The inventory {file} names no host of a cluster: expected some in the groups ray_head and "
        "ray_workers, got: a; move them there.\n",
    )


def test_a_colour_for_each_host_on_a_terminal(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs_command, "is_lively", lambda _: True)
    monkeypatch.setattr(logs_command.typer, "echo", lambda line, **_: print(line))
    lines = call()[1].splitlines()
    assert lines[0] == "\x1b[36mspark0 pair-vllm        |\x1b[0m head one"
    assert lines[1] == "\x1b[33mspark1 pair-ray         |\x1b[0m worker two"


def test_help_tells_what_the_exit_status_means() -> None:
    done = CliRunner().invoke(cli.app, ["logs", "--help"])
    text = " ".join(done.stdout.split())
    assert "Example: samewire logs -i inventories/mine --since 10m" in text
    assert text.endswith(
        "Exit status: 0 all that is there was printed; 1 there is no container; 2 the command line is wrong; "
        "3 refused before anything was changed; 4 a host is unreachable, the others were printed; "
        "130 interrupted."
    )


@pytest.fixture
def following(hosts: Path) -> Iterator[subprocess.Popen[str]]:
    """Yield the verb as it follows both hosts."""
    run = "from samewire import cli; cli.main()"
    command = ["logs", "-i", str(hosts.parent / "hosts.yml"), "--follow"]
    program = subprocess.Popen(
        [sys.executable, "-c", run, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield program
    program.kill()
    program.communicate()


def test_following_until_it_is_interrupted(following: subprocess.Popen[str], hosts: Path) -> None:
    assert following.stdout
    assert following.stderr
    assert "".join(following.stdout.readline() for _ in range(6)) == PRINTED
    with (hosts / "10.0.0.11" / "pair-ray.log").open("a", encoding="utf-8") as log:
        log.write("2026-11-30T13:00:06.1Z one more\n")
    assert following.stdout.readline() == "spark1 pair-ray         | one more\n"
    # The container starts anew: what was printed is not printed again.
    pid = int((hosts / "10.0.0.11" / "pair-ray.pid").read_text())
    os.kill(pid, signal.SIGTERM)
    with (hosts / "10.0.0.11" / "pair-ray.log").open("a", encoding="utf-8") as log:
        log.write("2026-11-30T13:00:07.1Z again\n")
    assert following.stdout.readline() == "spark1 pair-ray         | again\n"
    asked = (hosts / "called").read_text(encoding="utf-8").splitlines()[-1]
    assert (
        asked == "10.0.0.11 logs --timestamps --follow --since=2026-11-30T13:00:06.1Z -- pair-ray"
    )
    following.send_signal(signal.SIGINT)
    assert following.wait(60) == 130
    assert (following.stdout.read(), following.stderr.read()) == ("", "")
    left = [int(file.read_text()) for file in hosts.rglob("*.pid")]
    deadline = time.monotonic() + 30
    while alive := [pid for pid in left if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < deadline, alive
        time.sleep(0.05)


def line(second: int, host: str = "spark0") -> logs.Line:
    return logs.Line(f"2026-11-30T13:00:{second:02}Z", host, "pair-ray", None, "")


def test_a_line_waits_for_earlier_ones_of_others() -> None:
    inbox: Queue[logs.Line | None] = Queue()
    for each in (None, line(2), None, line(1, "spark1")):
        inbox.put(each)
    now = iter([*[0.0] * 6, *[9.0] * 9])
    came = logs.as_they_come(inbox, 2, lambda: next(now))
    assert [next(came), next(came)] == [line(1, "spark1"), line(2)]


def test_a_key_of_many_lines_is_hidden() -> None:
    read = logs.Reader("spark0", "pair-ray")
    key = [
        "a -----BEGIN RSA PRIVATE KEY-----",
        "MIIEpAIBAAKCAQEA",
        "-----END RSA PRIVATE KEY-----",
        "b",
    ]
    texts = [found.text for each in key if (found := read(f"2026-11-30T13:00:00Z {each}\n"))]
    assert texts == ["a -----BEGIN RSA PRIVATE KEY-----", "(hidden)", "(hidden)", "b"]


def test_ssh_is_told_what_the_inventory_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    way = connection(
        "spark0",
        {
            "ansible_host": "-oProxyCommand=evil",
            "ansible_user": "ops",
            "ansible_port": 2222,
            "ansible_ssh_private_key_file": "~/key",
            "ansible_ssh_common_args": "-o 'UserKnownHostsFile=~/known hosts'",
        },
    )
    argv = way.argv("echo '$(id)'")
    assert argv[:3] == ["ssh", "-o", "UserKnownHostsFile=~/known hosts"]
    assert argv[-9:] == [
        *("-l", "ops", "-p", "2222", "-i", "/home/me/key", "--", "-oProxyCommand=evil"),
        "sh -c 'echo '\"'\"'$(id)'\"'\"''",
    ]
    assert "BatchMode=yes" in argv


def test_this_machine_needs_no_ssh() -> None:
    assert connection("here", {"ansible_connection": "local"}).argv("id") == ["sh", "-c", "id"]


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        (
            {"ansible_host": "{{ address }}"},
            "a: ansible_host is {{ address }}, expected a plain value, as templates and vaults are opened by "
            "Ansible only; read the logs on the host",
        ),
        (
            {"ansible_connection": "community.docker.docker"},
            "a: ansible_connection is community.docker.docker, expected ssh or local; read the "
            "logs on the host",
        ),
        (
            {"ansible_become": True, "ansible_become_method": "su"},
            "a: ansible_become_method is su, expected sudo; read the logs on the host",
        ),
        (
            {"ansible_ssh_common_args": "-o 'A"},
            "a: ansible_ssh_common_args is -o 'A, expected options of ssh, got: No closing quotation; "
            "correct it in the inventory",
        ),
    ],
)
def test_ways_that_are_none(variables: dict[str, Any], message: str) -> None:
    with pytest.raises(ConnectionProblem) as refused:
        connection("a", variables)
    assert str(refused.value) == message
