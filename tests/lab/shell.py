# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A host as its users reach it: over SSH, with the lab's key and its known hosts."""

import json
import pathlib
import subprocess
from dataclasses import dataclass
from typing import IO

from samewire_lab.spec import HOSTS, Host
from samewire_lab.state import State


@dataclass(frozen=True)
class Shell:
    """A user on a host."""

    state: State
    host: Host
    user: str = "root"

    def run(self, command: str) -> "subprocess.CompletedProcess[str]":
        """Run a command line on the host."""
        return self._start(command, subprocess.DEVNULL)

    def _start(self, command: str, given: int | IO[bytes]) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [
                *("ssh", "-i", str(self.state.key), "-o", "BatchMode=yes"),
                *("-o", f"UserKnownHostsFile={self.state.known_hosts}"),
                *("-o", "StrictHostKeyChecking=yes", "-o", "ConnectTimeout=5"),
                f"{self.user}@{self.host.management_address}",
                command,
            ],
            capture_output=True,
            check=False,
            text=True,
            stdin=given,
        )

    def read(self, command: str) -> str:
        """Return the output of a command that succeeds."""
        done = self.run(command)
        assert done.returncode == 0, f"{command!r} on {self.host.name}: {done.stderr}"
        return done.stdout.strip()

    def send(self, source: pathlib.Path, target: str) -> None:
        """Copy a file to the host."""
        with source.open("rb") as opened:
            done = self._start(f"cat > {target}", opened)
        assert done.returncode == 0, f"{target} on {self.host.name}: {done.stderr}"

    def addresses(self) -> dict[str, str]:
        """Return IPv4 addresses by interface, but those of loopback and the host's own Docker."""
        return {
            interface["ifname"]: interface["addr_info"][0]["local"]
            for interface in json.loads(self.read("ip -j -4 address"))
            if interface["ifname"] not in ("lo", "docker0")
        }

    def engine(self) -> str:
        """Return the process number of a Docker Engine that answers, or an empty string."""
        return self.run("docker version > /dev/null && pgrep -x dockerd").stdout.strip()


def on(name: str) -> Shell:
    """Return the shell of root on the host of that name."""
    (host,) = (host for host in HOSTS if host.name == name)
    return Shell(State(), host)
