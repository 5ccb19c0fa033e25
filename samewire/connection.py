# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""How a command gets to a host of an inventory: over ssh, as Ansible would go there, or here."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _preflight

# What ssh itself ends with; a program on the host ends with less.
_SSH_FAILED = 255
# ssh asks nothing, and says by itself when a host is gone.
_OPTIONS = {
    "BatchMode": "yes",
    "ConnectTimeout": "10",
    "LogLevel": "ERROR",
    "ServerAliveInterval": "15",
    "ServerAliveCountMax": "4",
}
_YES = {"1", "on", "t", "true", "y", "yes"}


class ConnectionProblem(ValueError):
    """Variables by which a host cannot be reached; the message is one sentence."""


class Unreached(RuntimeError):
    """A host to which no command gets; the message is one sentence."""


@dataclass(frozen=True)
class Connection:
    """The way to a host.

    where: user and address, as a person would give them to ssh. ssh: the words before the command, none for
    this machine. become: the words that make another user of it.
    """

    host: str
    where: str
    ssh: tuple[str, ...] = ()
    become: tuple[str, ...] = ()

    def argv(self, script: str) -> list[str]:
        """Return the command that runs a script of sh on the host."""
        command = [*self.become, "sh", "-c", script]
        # The shell of the other end takes one text, and may be any.
        return [*self.ssh, shlex.join(command)] if self.ssh else command

    def run(self, script: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """Run a script of sh on the host; folder: where ssh is started, as relative paths begin there.

        Raises:
            Unreached: ssh is not installed, or does not get there.
        """
        try:
            done = subprocess.run(
                self.argv(script),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
        except OSError as error:
            reason = f"{error.filename} cannot be started ({error.strerror})"
            raise Unreached(f"{self.host}: {reason}; install it on this machine") from error
        if problem := self.unreached(done.returncode, done.stderr or done.stdout):
            raise Unreached(problem)
        return done

    def unreached(self, code: int, said: str) -> str:
        """Return why the host cannot be reached, from how ssh ended; empty where it got there."""
        if not self.ssh or code != _SSH_FAILED:
            return ""
        reason = (said.strip().splitlines() or ["it said nothing"])[-1].strip()
        return str(_preflight.unreachable_problem(self.host, self.where, reason))


def connection(host: str, variables: Mapping[str, Any]) -> Connection:
    """Return the way to a host, from its variables as `ansible-inventory --list` gives them.

    Raises:
        ConnectionProblem: It is neither ssh nor local, or a variable is a template.
    """
    said = _Said(host, variables)
    kind = said.text("connection") or "ssh"
    become = _become(said)
    if kind.removeprefix("ansible.builtin.") == "local":
        return Connection(host, "this machine", become=become)
    if kind.removeprefix("ansible.builtin.") not in {"ssh", "smart"}:
        raise ConnectionProblem(
            f"{host}: ansible_connection is {kind}, expected ssh or local; read the logs on the host"
        )
    address = said.text("host", "ssh_host") or host
    user = said.text("user", "ssh_user")
    words = ["ssh"]
    # Of an option that is given twice ssh takes the first.
    for name in ("ssh_args", "ssh_common_args", "ssh_extra_args"):
        words += said.words(name)
    if said.text("host_key_checking", "ssh_host_key_checking").lower() in {"false", "no", "0"}:
        words += ["-o", "StrictHostKeyChecking=no"]
    for option, value in _OPTIONS.items():
        words += ["-o", f"{option}={value}"]
    if user:
        words += ["-l", user]
    if port := said.text("port", "ssh_port"):
        words += ["-p", port]
    if key := said.text("ssh_private_key_file", "private_key_file"):
        words += ["-i", str(Path(key).expanduser())]
    where = f"{user}@{address}" if user else address
    return Connection(host, where, (*words, "--", address), become)


def _become(said: _Said) -> tuple[str, ...]:
    if said.text("become").lower() not in _YES:
        return ()
    method = said.text("become_method") or "sudo"
    if method.removeprefix("ansible.builtin.") != "sudo":
        raise ConnectionProblem(
            f"{said.host}: ansible_become_method is {method}, expected sudo; read the logs on the host"
        )
    return ("sudo", "-n", "-u", said.text("become_user") or "root", "--")


class _Said:
    """The variables of Ansible's connection to a host."""

    def __init__(self, host: str, variables: Mapping[str, Any]) -> None:
        self.host = host
        self._variables = variables

    def text(self, *names: str) -> str:
        """Return the first value among names, which are without their prefix `ansible_`."""
        for name in names:
            value = self._variables.get(f"ansible_{name}")
            if value is None or value == "":
                continue
            text = str(value)
            if not isinstance(value, (str, int)) or "{{" in text or "{%" in text:
                raise ConnectionProblem(
                    f"{self.host}: ansible_{name} is {text}, expected a plain value, as templates and vaults "
                    "are opened by Ansible only; read the logs on the host"
                )
            return text
        return ""

    def words(self, name: str) -> list[str]:
        text = self.text(name)
        try:
            return shlex.split(text)
        except ValueError as error:
            raise ConnectionProblem(
                f"{self.host}: ansible_{name} is {text}, expected options of ssh, got: {error}; correct it "
                "in the inventory"
            ) from None
