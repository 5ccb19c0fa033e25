# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The machine's own Docker Engine: use the one that runs, else start one, else say how."""

import json
import os
import platform
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import docker
from docker import DockerClient

from samewire_lab.errors import LabError
from samewire_lab.progress import Progress
from samewire_lab.state import State
from samewire_lab.waiting import wait_for

# Debian's and Ubuntu's names, by the program that each package brings.
PACKAGES = {
    "dockerd": "docker.io",
    "iptables": "iptables",
    "debootstrap": "debootstrap",
    "ssh": "openssh-client",
}
KEYRING = "debian-archive-keyring"


@dataclass(frozen=True)
class Machine:
    """What decides whether the lab can start an engine by itself."""

    system: str
    architecture: str
    apt: bool
    root: bool
    systemd: bool

    @classmethod
    def here(cls) -> "Machine":
        """Look at this machine."""
        return cls(
            system=platform.system(),
            architecture=platform.machine(),
            apt=shutil.which("apt-get") is not None,
            root=os.geteuid() == 0,
            systemd=Path("/run/systemd/system").is_dir(),
        )


def refusal(machine: Machine, missing: list[str], engine_runs: bool) -> str | None:
    """Return one sentence on why the lab cannot run here, with the cure, or None.

    `missing` are the programs of PACKAGES that are not installed.
    """
    if machine.system != "Linux" or machine.architecture != "x86_64":
        return (
            f"The lab runs on Linux on x86-64, this machine is {machine.system} on "
            f"{machine.architecture}; run it in a virtual machine or on another machine."
        )
    if not machine.root:
        return (
            "The lab builds root file systems and networks; run it as root, for example with sudo."
        )
    if missing and not machine.apt:
        programs = ", ".join(missing)
        return (
            f"The lab needs {programs} and installs them on Debian and Ubuntu only; install them "
            "with this system's package manager, start Docker Engine, and run it again."
        )
    if not engine_runs and not machine.apt:
        return "No Docker Engine answers on this machine; start it and run the lab again."
    return None


def connect() -> DockerClient | None:
    """Return a client of the running engine, or None."""
    try:
        client = docker.from_env(timeout=600)
        client.ping()
    except (docker.errors.DockerException, OSError):
        return None
    return client


def missing_programs() -> list[str]:
    """Return the programs of PACKAGES that are not on this machine."""
    return [program for program in PACKAGES if shutil.which(program) is None]


def ensure(state: State, progress: Progress) -> DockerClient:
    """Return a client of a running engine, which is installed and started where none runs."""
    client = connect()
    missing = missing_programs()
    if client:
        # A remote or a vendor's engine answers without its daemon on our PATH.
        missing = [program for program in missing if program not in ("dockerd", "iptables")]
    machine = Machine.here()
    if sentence := refusal(machine, missing, client is not None):
        raise LabError(sentence)
    if missing:
        with progress.step(f"Install {', '.join(missing)}"):
            _install([PACKAGES[program] for program in missing])
    if client:
        return client
    with progress.step("Start Docker Engine"):
        return _start(state, machine)


def _install(packages: list[str]) -> None:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-qq", "--no-install-recommends", KEYRING, *packages],
    ):
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            check=False,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode:
            reason = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
            raise LabError(f"`{' '.join(command)}` failed on this machine: {reason[0]}")


def _start(state: State, machine: Machine) -> DockerClient:
    log = state.logs / "dockerd.log"
    if machine.systemd:
        subprocess.run(["systemctl", "start", "docker"], check=False, capture_output=True)
        state.engine.write_text(json.dumps({"started": "systemd"}))
        hint = "`journalctl -u docker`"
    else:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            daemon = subprocess.Popen(
                ["dockerd"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        state.engine.write_text(json.dumps({"started": "dockerd", "pid": daemon.pid}))
        hint = str(log)
    return wait_for(connect, 60, f"Docker Engine on this machine did not answer (see {hint})")


def started_by_lab(state: State) -> str | None:
    """Return "systemd" or "dockerd" when this lab started the engine that runs, else None."""
    if not state.engine.exists():
        return None
    record = json.loads(state.engine.read_text())
    if record["started"] == "dockerd":
        # The process may have ended and its number may belong to another one.
        name = Path(f"/proc/{record['pid']}/comm")
        if not (name.exists() and name.read_text().strip() == "dockerd"):
            return None
    return str(record["started"])


def stop(state: State, progress: Progress) -> None:
    """Stop the engine when this lab started it."""
    how = started_by_lab(state)
    if how:
        with progress.step("Stop Docker Engine, which the lab had started"):
            if how == "systemd":
                subprocess.run(
                    ["systemctl", "stop", "docker.socket", "docker"],
                    check=True,
                    capture_output=True,
                )
            else:
                pid = json.loads(state.engine.read_text())["pid"]
                os.kill(pid, signal.SIGTERM)
                wait_for(
                    lambda: started_by_lab(state) is None,
                    60,
                    f"dockerd (process {pid}) did not end",
                )
    state.engine.unlink(missing_ok=True)
