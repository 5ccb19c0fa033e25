# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Clusters of network namespaces that Ansible reaches by ssh, each over a network of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.netns.segment import INTERFACE, Segment
from tests.unit.modules import ROOT

HEAD = "node0"
RAY_PORT = 6379

# The one file of settings; what it does not say is a matter of this machine. HOME keeps the shells'
# own settings out.
SSHD = """
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/key.pub
PidFile {folder}/{name}.pid
ListenAddress {address}
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
MaxSessions 64
SetEnv HOME={folder}
"""

PROOF = [
    {
        "name": "Prove the wire",
        "hosts": "ray_head:ray_workers",
        "gather_facts": False,
        "any_errors_fatal": True,
        "roles": [
            {
                "role": "samewire.vllm.wire",
                "vars": {
                    "wire_ports": f"{{{{ [{RAY_PORT}] if inventory_hostname == '{HEAD}' else [] }}}}"
                },
            }
        ],
    }
]


def sshd() -> str | None:
    """Return the path of sshd, None where it is not installed."""
    return shutil.which("sshd", path="/usr/sbin:/usr/bin:/sbin")


@dataclass(frozen=True)
class Cluster:
    """A folder with an inventory, and the namespace from which Ansible reaches the hosts.

    The folder also has proof.yml, the wire's proof alone, and plan.json, the variables for it.
    """

    folder: Path
    controller: str
    segment: Segment

    def run(self, verb: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run ansible ("adhoc" or "playbook") for all hosts at once; stderr is in stdout."""
        with self.start(verb, *arguments) as running:
            said = running.communicate()[0]
        return subprocess.CompletedProcess(running.args, running.returncode, said)

    def start(self, verb: str, *arguments: str) -> subprocess.Popen[str]:
        """Start what `run` runs."""
        argv = [sys.executable, "-m", "ansible", verb, "-i", "inventory.json", *arguments]
        return subprocess.Popen(
            ["ip", "netns", "exec", self.controller, *argv],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={
                **os.environ,
                "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
                "ANSIBLE_FORKS": str(len(self.segment.hosts)),
                "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self.folder / "cp"),
            },
        )


@contextmanager
def cluster(size: int, furnish: Callable[[str], object] = str) -> Iterator[Cluster]:
    """Yield a cluster of that many hosts (node0 is the head), on which nothing but sshd runs.

    furnish: what is done with each namespace before its sshd starts.
    """
    segment = Segment(f"swc{os.getpid()}")
    folder = Path(tempfile.mkdtemp(prefix="samewire-"))
    try:
        controller = segment.namespace("controller")
        for key in ("key", "host_key"):
            _run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)])
        Path("/run/sshd").mkdir(exist_ok=True)
        management = {f"node{number}": f"10.88.{number + 1}" for number in range(size)}
        for name, network in management.items():
            namespace = segment.host(name, mtu=9000)
            segment.join(namespace, "management", controller, network)
            furnish(namespace)
            settings = folder / name
            settings.write_text(SSHD.format(folder=folder, name=name, address=f"{network}.1"))
            _run(["ip", "netns", "exec", namespace, str(sshd()), "-f", str(settings)])
        _write(folder, management, segment.hosts)
        yield Cluster(folder, controller, segment)
    finally:
        for file in folder.glob("*.pid"):
            os.kill(int(file.read_text()), signal.SIGTERM)
        segment.close()
        # An sshd that ends takes its own file away meanwhile.
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def roomy_neighbour_tables() -> Iterator[None]:
    """Make room for all pairs: namespaces share one limit of neighbours (arp(7)), usually 1024."""
    limit = Path("/proc/sys/net/ipv4/neigh/default/gc_thresh3")
    before = limit.read_text()
    limit.write_text("16384")
    try:
        yield
    finally:
        limit.write_text(before)


def _write(folder: Path, management: Mapping[str, str], fabric: Mapping[str, str]) -> None:
    """Write the inventory, the keys of its hosts, and what the plan of such hosts is."""
    public = " ".join((folder / "host_key.pub").read_text().split()[:2])
    (folder / "known_hosts").write_text(
        "".join(f"{network}.1 {public}\n" for network in management.values())
    )
    hosts = {name: {"ansible_host": f"{network}.1"} for name, network in management.items()}
    inventory = {
        "all": {
            "vars": {
                "ansible_user": "root",
                "ansible_ssh_private_key_file": str(folder / "key"),
                "ansible_ssh_common_args": f"-o UserKnownHostsFile={folder}/known_hosts",
                "container_image_name": "localhost/vllm:none",
                "vllm_server_model": "/models/none",
                "ray_node_port": RAY_PORT,
            },
            "children": {
                "ray_head": {"hosts": {HEAD: hosts.pop(HEAD)}},
                "ray_workers": {"hosts": hosts},
            },
        }
    }
    plan = {
        "network": {"cidr": "10.77.0.0/24"},
        "hosts": {
            name: {"address": address, "interface": INTERFACE} for name, address in fabric.items()
        },
    }
    for name, value in (
        ("inventory.json", inventory),
        ("proof.yml", PROOF),
        ("plan.json", {"wire_plan": plan}),
    ):
        (folder / name).write_text(json.dumps(value))


def _run(argv: Sequence[str]) -> None:
    subprocess.run(argv, check=True, capture_output=True, text=True)
