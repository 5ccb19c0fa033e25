# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Hosts as network namespaces on one Ethernet segment, a bridge in a namespace of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.unit.modules import ROOT

PLUGINS = "ansible_collections.samewire.vllm.plugins.modules"
INTERFACE = "fabric"


class Segment:
    """Namespaces, each with an interface "fabric" and an address 10.77.0.N, from 1 on."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.hosts: dict[str, str] = {}
        self._names: list[str] = []
        self.switch = self.namespace("switch")
        self.ip(self.switch, "link add br0 type bridge")
        self.ip(self.switch, "link set br0 up")

    def namespace(self, name: str) -> str:
        """Add an empty namespace and return its full name."""
        full = f"{self.tag}-{name}"
        _run(["ip", "netns", "add", full])
        self._names.append(full)
        self.ip(full, "link set lo up")
        return full

    def host(self, name: str, address: str | None = None, mtu: int = 1500) -> str:
        """Add a host, plugged into the bridge, and return its namespace."""
        namespace = self.namespace(name)
        address = address or f"10.77.0.{len(self.hosts) + 1}/24"
        port = f"p{len(self._names)}"
        self.ip(namespace, f"link add {INTERFACE} type veth peer name {port} netns {self.switch}")
        self.ip(self.switch, f"link set {port} mtu {mtu} master br0 up")
        nodad = " nodad" if ":" in address else ""
        self.ip(namespace, f"address add {address} dev {INTERFACE}{nodad}")
        self.ip(namespace, f"link set {INTERFACE} mtu {mtu} up")
        self.hosts[name] = address.split("/")[0]
        return namespace

    def join(self, one: str, interface: str, other: str, network: str) -> None:
        """Join two namespaces by a link of their own: `network` with .1 at `interface`, .2 at the other."""
        far = f"to{self._names.index(one)}"
        self.ip(one, f"link add {interface} type veth peer name {far} netns {other}")
        for namespace, end, host in ((one, interface, 1), (other, far, 2)):
            self.ip(namespace, f"address add {network}.{host}/24 dev {end}")
            self.ip(namespace, f"link set {end} up")

    def port_of(self, name: str) -> str:
        """The bridge's port to a host."""
        return f"p{self._names.index(f'{self.tag}-{name}') + 1}"

    def full(self, name: str) -> str:
        return f"{self.tag}-{name}"

    def ip(self, namespace: str, words: str) -> None:
        _run(["ip", "-n", namespace, *words.split()])

    def iptables(self, name: str, words: str) -> None:
        program = "ip6tables" if ":" in self.hosts[name] else "iptables"
        _run(["ip", "netns", "exec", self.full(name), program, *words.split()])

    def module(self, name: str, module: str, **arguments: Any) -> dict[str, Any]:
        """Run a module in the namespace of a host, as Ansible does, and return what it printed."""
        arguments |= {"_ansible_remote_tmp": "/tmp", "_ansible_check_mode": False}
        done = subprocess.run(
            ["ip", "netns", "exec", self.full(name), sys.executable, "-m", f"{PLUGINS}.{module}"],
            input=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}),
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT / "collections")},
        )
        assert done.stdout, done.stderr
        return dict(json.loads(done.stdout))

    def everywhere(self, module: str, **arguments: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Run a module on all hosts at once; arguments by host."""
        with ThreadPoolExecutor(len(self.hosts)) as pool:
            results = pool.map(
                lambda name: self.module(name, module, **arguments[name]), self.hosts
            )
            return dict(zip(self.hosts, results, strict=True))

    def close(self) -> None:
        for name in self._names:
            subprocess.run(["ip", "netns", "delete", name], check=False)


def _run(argv: list[str]) -> None:
    subprocess.run(argv, check=True, capture_output=True, text=True)
