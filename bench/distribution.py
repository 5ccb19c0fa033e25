# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""How long an image takes to all hosts, by way; run it as root: python -m bench.distribution [RECEIVERS...].

Each host is a network namespace with a Docker Engine whose disk is memory; all share the processors of this
machine. All reach the registry over one uplink of 200 Mbit/s, and each other over a fabric without a limit.
The image has 200 MB in 8 layers, also as the registry packs it, or gzip halves it (--halved). Nothing goes
through Ansible: its tasks cost every way the same.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.netns.cluster import HEAD, SSHD, Cluster, cluster, sshd
from tests.netns.engine import Engines, engines
from tests.netns.registry import serve
from tests.netns.segment import PLUGINS
from tests.unit.images import Image, layer
from tests.unit.modules import ROOT

SIZES = (2, 4, 8)
ROUNDS = 3
LAYERS, LAYER = 8, 25_000_000
UPLINK = "rate 200mbit burst 256kb latency 400ms"
REGISTRY = "10.99.0.1"
# Sixteen different bytes at random, which gzip can write in half the space and no less.
HALVED = bytes(each & 15 for each in range(256))
NAME = f"{REGISTRY}:5000/vllm:1"


@dataclass
class Site:
    """The hosts, their engines, and the registry at the other end of the uplink."""

    cluster: Cluster
    engines: Engines
    image: Image

    @property
    def receivers(self) -> list[str]:
        return [host for host in self.cluster.segment.hosts if host != HEAD]

    def inside(self, host: str, *argv: str, given: str = "") -> str:
        """Run a command on a host, with its engine."""
        done = subprocess.run(
            ["ip", "netns", "exec", self.cluster.segment.full(host), *argv],
            input=given,
            check=False,
            capture_output=True,
            text=True,
            cwd=self.cluster.folder,
            env={
                **os.environ,
                "DOCKER_HOST": f"unix://{self.engines.socket(host)}",
                "PYTHONPATH": str(ROOT / "collections"),
            },
        )
        if done.returncode:
            raise SystemExit(f"{host}: {shlex.join(argv)}: {done.stderr}")
        return done.stdout

    def module(self, host: str, module: str, **arguments: Any) -> dict[str, Any]:
        """Run a module until what it began is over, as its action does."""
        asked = json.dumps({"ANSIBLE_MODULE_ARGS": {**arguments, "_ansible_remote_tmp": "/tmp"}})
        argv = [sys.executable, "-m", f"{PLUGINS}.{module}"]
        said = dict(json.loads(self.inside(host, *argv, given=asked)))
        if said.get("failed") or said.get("problem"):
            raise SystemExit(said.get("msg") or said["problem"])
        return (
            self.module(host, module, **arguments, job=said["job"], seconds=600)
            if "job" in said
            else said
        )

    def carried(self) -> tuple[int, int]:
        """Return the bytes that the uplink and the fabric have carried to the hosts."""
        uplink = self._bytes("registry", "uplink", "tx")
        return uplink, sum(self._bytes(host, "fabric", "rx") for host in self.cluster.segment.hosts)

    def _bytes(self, host: str, interface: str, way: str) -> int:
        path = f"/sys/class/net/{interface}/statistics/{way}_bytes"
        return int(self.inside(host, "cat", path))

    def forget(self) -> None:
        for host in self.cluster.segment.hosts:
            for image in self.engines.engine(host).images():
                self.engines.docker(host, "image", "rm", "--force", image)

    def all_have_it(self) -> bool:
        found = [self.engines.image(host, NAME) or {} for host in self.cluster.segment.hosts]
        return all(
            (each.get("RootFS") or {}).get("Layers") == self.image.diff_ids for each in found
        )


def every_host_pulls(site: Site) -> None:
    with ThreadPoolExecutor(len(site.cluster.segment.hosts)) as pool:
        list(
            pool.map(
                lambda host: site.inside(host, "docker", "pull", NAME), site.cluster.segment.hosts
            )
        )


def _over_ssh(site: Site, host: str) -> None:
    folder, address = site.cluster.folder, site.cluster.segment.hosts[host]
    ssh = ["ssh", "-i", f"{folder}/key", "-o", f"UserKnownHostsFile={folder}/known_hosts"]
    load = f"docker --host unix://{site.engines.socket(host)} load"
    pipe = f"docker save {NAME} | {shlex.join([*ssh, '-p', '2222', address, load])}"
    site.inside(HEAD, "bash", "-o", "pipefail", "-c", pipe)


def ssh_one_after_another(site: Site) -> None:
    site.inside(HEAD, "docker", "pull", NAME)
    for host in site.receivers:
        _over_ssh(site, host)


def ssh_at_once(site: Site) -> None:
    site.inside(HEAD, "docker", "pull", NAME)
    with ThreadPoolExecutor(len(site.receivers)) as pool:
        list(pool.map(lambda host: _over_ssh(site, host), site.receivers))


def from_the_head(site: Site) -> None:
    image = site.module(HEAD, "image_pull", name=NAME)["image"]
    addresses, token = site.cluster.segment.hosts, secrets.token_hex()
    offer = site.module(
        HEAD,
        "image_offer",
        address=addresses[HEAD],
        name=NAME,
        peers=[addresses[host] for host in site.receivers],
        token=token,
    )

    def receive(host: str) -> None:
        site.module(
            host,
            "image_receive",
            name=NAME,
            expected=image,
            sizes=offer["sizes"],
            source=HEAD,
            source_address=addresses[HEAD],
            port=offer["port"],
            token=token,
            address=addresses[host],
        )

    with ThreadPoolExecutor(len(site.receivers)) as pool:
        list(pool.map(receive, site.receivers))
    site.module(HEAD, "image_offer", end=offer["offer"])


WAYS: dict[str, Callable[[Site], None]] = {
    "every host pulls": every_host_pulls,
    "docker save, ssh, docker load, one after another": ssh_one_after_another,
    "docker save, ssh, docker load, at once": ssh_at_once,
    "container_image_distribution: head": from_the_head,
}


@contextmanager
def site(receivers: int, *, halved: bool) -> Iterator[Site]:
    """Yield a head and that many receivers."""
    names = [f"node{number}" for number in range(receivers + 1)]
    with (
        tempfile.TemporaryDirectory(prefix="samewire-") as folder,
        engines(Path(folder), names, 3000) as running,
        cluster(len(names)) as of,
    ):
        segment, served = of.segment, of.folder / "registry"
        registry = segment.namespace("registry")
        segment.join(registry, "uplink", of.controller, "10.99.0")
        segment.ip(registry, "route add default via 10.99.0.2")
        served.mkdir()
        noise = [os.urandom(LAYER) for _ in range(LAYERS)]
        if halved:
            noise = [data.translate(HALVED) for data in noise]
        each = Site(of, running, Image([layer(f"f{at}", data) for at, data in enumerate(noise)]))
        each.image.publish(served, "1")
        each.inside("controller", "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
        each.inside("registry", *f"tc qdisc add dev uplink root tbf {UPLINK}".split())
        for number, name in enumerate(names):
            segment.ip(segment.full(name), f"route add 10.99.0.0/24 via 10.88.{number + 1}.2")
            running.start(name, segment.full(name), f"--insecure-registry={REGISTRY}:5000")
            _listen_on_the_fabric(each, name)
        serving = serve(registry, REGISTRY, served)
        try:
            yield each
        finally:
            serving.terminate()
            serving.wait()
            running.stop()


def _listen_on_the_fabric(site: Site, host: str) -> None:
    folder, address = site.cluster.folder, site.cluster.segment.hosts[host]
    text = SSHD.format(folder=folder, name=f"{host}-fabric", address=address) + "Port 2222\n"
    (folder / f"{host}-fabric").write_text(text)
    site.inside(host, str(sshd()), "-f", str(folder / f"{host}-fabric"))
    public = " ".join((folder / "host_key.pub").read_text().split()[:2])
    with (folder / "known_hosts").open("a") as known:
        known.write(f"[{address}]:2222 {public}\n")


def measure(receivers: int, rounds: int, *, halved: bool) -> list[dict[str, Any]]:
    """Return a row for each way: median, least and most seconds, and megabytes by network."""
    took: dict[str, list[float]] = {way: [] for way in WAYS}
    bytes_of: dict[str, tuple[int, int]] = {}
    with site(receivers, halved=halved) as each:
        for _ in range(rounds):
            for way, run in WAYS.items():
                before, began = each.carried(), time.monotonic()
                run(each)
                took[way].append(time.monotonic() - began)
                after = each.carried()
                bytes_of[way] = after[0] - before[0], after[1] - before[1]
                if not each.all_have_it():
                    raise SystemExit(f"{way}: not all hosts have the image")
                each.forget()
    return [
        {
            "receivers": receivers,
            "way": way,
            "median_s": round(statistics.median(times), 1),
            "least_s": round(min(times), 1),
            "most_s": round(max(times), 1),
            "uplink_mb": bytes_of[way][0] // 1_000_000,
            "fabric_mb": bytes_of[way][1] // 1_000_000,
        }
        for way, times in took.items()
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print, a row as JSON a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("receivers", nargs="*", type=int, default=SIZES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--halved", action="store_true", help="take an image that gzip halves")
    given = parser.parse_args(arguments)
    for receivers in given.receivers:
        for row in measure(receivers, given.rounds, halved=given.halved):
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
