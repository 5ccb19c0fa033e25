# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The role container_image on hosts with a Docker Engine each; only the head reaches the registry."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.netns.cluster import Cluster, cluster, sshd
from tests.netns.engine import SNAPSHOTTERS, Engines, dockerd, engines
from tests.netns.registry import serve
from tests.unit.images import Image, layer
from tests.unit.modules import ROOT

HOSTS = ("node0", "node1", "node2")
# Only the first host has a way there.
REGISTRY = "10.88.1.2"
NAME = f"{REGISTRY}:5000/vllm:1"
LAYER = 4 << 20
SLOW = "rate 40mbit burst 64kb latency 200ms"
PLAY = [
    {
        "name": "Have the image everywhere",
        "hosts": "ray_head:ray_workers",
        "gather_facts": False,
        "any_errors_fatal": True,
        "environment": {"DOCKER_HOST": "unix://{{ sockets }}/{{ inventory_hostname }}.sock"},
        "roles": [
            {
                "role": "samewire.vllm.container_image",
                "vars": {
                    "container_image_head": "node0",
                    "container_image_plan": "{{ wire_plan }}",
                    # It holds nothing that could be asked.
                    "container_image_skip_gates": ["versions"],
                },
            }
        ],
        "tasks": [
            {
                "name": "Show the digest",
                "ansible.builtin.debug": {"msg": "digest={{ container_image_digest }}"},
            }
        ],
    }
]


class Farm:
    """The hosts, their engines, and the registry."""

    def __init__(self, of: Cluster, running: Engines) -> None:
        self.cluster = of
        self.engines = running
        self.served = of.folder / "registry"
        self.served.mkdir()
        of.folder.joinpath("image.yml").write_text(json.dumps(PLAY))
        self.registry = serve(of.controller, REGISTRY, self.served)

    def start(self, host: str) -> None:
        namespace = self.cluster.segment.full(host)
        self.engines.start(host, namespace, f"--insecure-registry={REGISTRY}:5000")

    def play(self, *more: str) -> subprocess.CompletedProcess[str]:
        return self.cluster.run("playbook", *self.arguments(*more))

    def begin(self, *more: str) -> subprocess.Popen[str]:
        """Start the play, for a test that interferes."""
        argv = [sys.executable, "-m", "ansible", "playbook", "-i", "inventory.json"]
        return subprocess.Popen(
            ["ip", "netns", "exec", self.cluster.controller, *argv, *self.arguments(*more)],
            cwd=self.cluster.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={
                **os.environ,
                "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
                "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self.cluster.folder / "cp"),
            },
        )

    def arguments(self, *more: str) -> list[str]:
        variables = {"sockets": str(self.engines.folder), "container_image_name": NAME}
        return ["image.yml", "-e", "@plan.json", "-e", json.dumps(variables), *more]

    def received(self, host: str) -> int:
        """Return how many bytes have come to a host over the fabric."""
        path = "/sys/class/net/fabric/statistics/rx_bytes"
        done = subprocess.run(
            ["ip", "netns", "exec", self.cluster.segment.full(host), "cat", path],
            check=True,
            capture_output=True,
            text=True,
        )
        return int(done.stdout)

    def slow(self, host: str, verb: str) -> None:
        """Slow down what a host sends, or end that."""
        words = f"qdisc {verb} dev fabric root" + (f" tbf {SLOW}" if verb == "add" else "")
        subprocess.run(
            ["ip", "netns", "exec", self.cluster.segment.full(host), "tc", *words.split()],
            check=True,
        )

    def forget(self) -> None:
        """Take all images from all hosts."""
        for host in HOSTS:
            for image in self.engines.engine(host).images():
                self.engines.docker(host, "image", "rm", "--force", image)

    def kept(self) -> list[list[str]]:
        return [self.engines.engine(host).images() for host in HOSTS]


@pytest.fixture(scope="module")
def running(can_make_namespaces: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    if not dockerd():
        pytest.skip("dockerd is not installed")
    if sshd() is None:
        pytest.skip("sshd is not installed")
    folder = tmp_path_factory.mktemp("engines")
    with engines(folder, HOSTS) as started, cluster(len(HOSTS)) as made:
        farm = Farm(made, started)
        try:
            for host in HOSTS:
                farm.start(host)
            yield farm
        finally:
            farm.registry.terminate()
            farm.registry.wait()
            started.stop()


@pytest.fixture
def farm(running: Farm) -> Iterator[Farm]:
    for file in running.served.iterdir():
        file.unlink()
    yield running
    running.forget()


def noise(name: str, size: int = LAYER) -> bytes:
    """Return a layer that does not compress."""
    return layer(name, os.urandom(size))


BASE = [noise("one"), noise("two")]


def publish(farm: Farm, image: Image | None = None) -> Image:
    image = image or Image([*BASE, noise("three")])
    image.publish(farm.served, "1")
    return image


def recap(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """Return how many tasks changed something, by host; all must have gone well."""
    assert done.returncode == 0, done.stdout
    found = re.findall(r"^(node\d)\s+: ok=\d+ +changed=(\d+)", done.stdout, re.MULTILINE)
    return {host: int(changed) for host, changed in found}


def flat(done: subprocess.CompletedProcess[str]) -> str:
    return " ".join(done.stdout.replace("\\n", "\n").split())


def offers() -> list[Path]:
    """Return what stands in the folder that the hosts share for what is temporary."""
    return list(Path("/tmp").glob("samewire-image-offer-*"))


def wait_for(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "what the test waits for did not come"
        time.sleep(0.05)


def test_who_does_not_reach_the_registry_receives_from_the_head(farm: Farm) -> None:
    image = publish(farm)
    before = {host: farm.received(host) for host in HOSTS}

    predicted = farm.play("--check")
    assert recap(predicted) == {"node0": 1, "node1": 1, "node2": 1}
    assert farm.kept() == [[], [], []]

    done = farm.play()
    assert recap(done) == {"node0": 1, "node1": 1, "node2": 1}, done.stdout
    assert (
        f"node1: receives image {NAME} (12.6 MB) from node0 over the interconnect, since the registry does "
        f"not give it to this host (" in flat(done)
    )
    assert "connect: network is unreachable" in flat(done)
    found = [farm.engines.image(host, NAME) or {} for host in HOSTS]
    assert [each["RootFS"]["Layers"] for each in found] == [image.diff_ids] * 3
    assert [NAME in each["RepoTags"] for each in found] == [True] * 3
    for host in HOSTS[1:]:
        assert 3 * LAYER < farm.received(host) - before[host] < 3.3 * LAYER
    # All have the digest that the registry gave to one.
    digests = set(re.findall(r"digest=(sha256:\w+)", done.stdout))
    assert digests == {found[0]["RepoDigests"][0].partition("@")[2]}

    before = {host: farm.received(host) for host in HOSTS}
    again = farm.play()
    assert recap(again) == {"node0": 0, "node1": 0, "node2": 0}
    assert set(re.findall(r"digest=(sha256:\w+)", again.stdout)) == digests
    assert all(farm.received(host) - before[host] < 100_000 for host in HOSTS)
    assert recap(farm.play("--check")) == {"node0": 0, "node1": 0, "node2": 0}


@pytest.mark.skipif(any(SNAPSHOTTERS), reason="containerd keeps layers as they were packed")
def test_layers_that_a_host_has_are_not_sent(farm: Farm) -> None:
    image = publish(farm)
    farm.engines.docker("node1", "load", given=Image(BASE).saved("localhost/base:1"))
    before = {host: farm.received(host) for host in HOSTS}
    assert recap(farm.play()) == {"node0": 1, "node1": 1, "node2": 1}
    got = {host: farm.received(host) - before[host] for host in HOSTS}
    assert LAYER < got["node1"] < 1.3 * LAYER
    assert 3 * LAYER < got["node2"] < 3.3 * LAYER
    for host in HOSTS:
        assert (farm.engines.image(host, NAME) or {})["RootFS"]["Layers"] == image.diff_ids
    # What was not sent is whole all the same: Docker can give it.
    kept = farm.engines.engine("node1")
    with kept.saved(NAME) as saved:
        assert len(saved.read()) > 3 * LAYER


@pytest.mark.skipif(any(SNAPSHOTTERS), reason="containerd keeps layers as they were packed")
def test_a_layer_that_comes_twice_and_is_held_once(farm: Farm) -> None:
    image = publish(farm, Image([*BASE, BASE[0]]))
    farm.engines.docker("node1", "load", given=Image(BASE).saved("localhost/base:1"))
    before = farm.received("node1")
    assert recap(farm.play())["node1"] == 1
    assert LAYER < farm.received("node1") - before < 1.3 * LAYER
    assert (farm.engines.image("node1", NAME) or {})["RootFS"]["Layers"] == image.diff_ids


def test_head_alone_asks_the_registry_and_sends_what_it_has_now(farm: Farm) -> None:
    publish(farm)
    only_head = ["-e", "container_image_distribution=head"]
    assert recap(farm.play(*only_head)) == {"node0": 1, "node1": 1, "node2": 1}
    newer = publish(farm, Image([*BASE, noise("newer")], variables=["PATH=/bin", "NEWER=1"]))
    assert recap(farm.play(*only_head)) == {"node0": 0, "node1": 0, "node2": 0}
    always = [*only_head, "-e", "container_image_pull=always"]
    before = farm.received("node1")
    assert recap(farm.play(*always)) == {"node0": 1, "node1": 1, "node2": 1}
    for host in HOSTS:
        assert (farm.engines.image(host, NAME) or {})["RootFS"]["Layers"] == newer.diff_ids
    assert any(SNAPSHOTTERS) or farm.received("node1") - before < 1.3 * LAYER
    assert recap(farm.play(*always)) == {"node0": 0, "node1": 0, "node2": 0}


def test_an_image_that_only_the_head_has(farm: Farm) -> None:
    farm.engines.docker("node0", "load", given=Image(BASE).saved(NAME))
    assert recap(farm.play()) == {"node0": 0, "node1": 1, "node2": 1}
    assert recap(farm.play()) == {"node0": 0, "node1": 0, "node2": 0}


def test_compressed_over_a_slow_link(farm: Farm) -> None:
    image = publish(farm, Image([layer("zeros", bytes(3 * LAYER)), noise("noise")]))
    speed = {
        "interconnect_info": {"facts": {"interfaces": [{"name": "fabric", "speed_mbps": 100}]}}
    }
    before = farm.received("node1")
    assert recap(farm.play("-e", json.dumps(speed))) == {"node0": 1, "node1": 1, "node2": 1}
    assert LAYER < farm.received("node1") - before < 1.3 * LAYER
    assert (farm.engines.image("node1", NAME) or {})["RootFS"]["Layers"] == image.diff_ids


def refused(done: subprocess.CompletedProcess[str], sentence: str) -> None:
    assert done.returncode == 2, done.stdout
    assert re.search(sentence, flat(done)), done.stdout


def test_pull_lets_every_host_pull(farm: Farm) -> None:
    publish(farm)
    refused(
        farm.play("-e", "container_image_distribution=pull"),
        rf"node1: image {NAME} cannot be pulled from its registry \(.*network is unreachable\); look whether "
        "the registry answers to this host, and run again",
    )


@pytest.mark.parametrize(
    ("fault", "said", "cure"),
    [
        ("500", ".*500 Internal Server Error.*", "look whether the registry answers to this host"),
        ("401", ".*(unauthorized|denied|no basic auth|401).*", ""),
        ("cut", ".*EOF.*", "look whether the registry answers to this host, and run again"),
        ("", ".*(manifest unknown|not found).*", "correct container_image_name"),
    ],
)
def test_a_registry_that_fails(farm: Farm, fault: str, said: str, cure: str) -> None:
    if fault:
        publish(farm)
        (farm.served / "fault").write_text(fault)
    sentence = rf"node0: image {NAME} cannot be pulled from its registry \({said}\); {cure}"
    refused(farm.play(), sentence)
    assert farm.kept() == [[], [], []]


def test_an_image_for_another_processor(farm: Farm) -> None:
    farm.engines.docker("node0", "load", given=Image(BASE, architecture="arm64").saved(NAME))
    refused(
        farm.play(),
        f"node1: image {NAME} of the head is for arm64, expected one for amd64, the processor of this host; "
        "set container_image_distribution to pull, or build the image for both",
    )


def test_a_source_that_dies_on_the_way(farm: Farm) -> None:
    image = publish(farm)
    farm.engines.docker("node0", "load", given=image.saved(NAME))
    used, before = farm.engines.used("node1"), farm.received("node1")
    farm.slow("node0", "add")
    try:
        playing = farm.begin()
        wait_for(lambda: farm.received("node1") - before > LAYER)
        listed = subprocess.run(
            ["ip", "netns", "pids", farm.cluster.segment.full("node0")],
            check=True,
            capture_output=True,
            text=True,
        )
        for pid in map(int, listed.stdout.split()):
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            if b"python" in command:
                os.kill(pid, 9)
        said = playing.communicate()[0]
    finally:
        farm.slow("node0", "del")
    assert playing.returncode == 2, said
    found = re.search(
        rf"node1: receiving image {NAME} from node0 at 10\.77\.0\.1 broke off after ([\d.]+) MB \(.*?\); "
        "Docker keeps nothing of an image that did not arrive whole, run again",
        " ".join(said.split()),
    )
    assert found, said
    # Of a host whose processes were killed the note of the offer stays until it boots.
    for note in offers():
        note.rmdir()
    assert farm.engines.engine("node1").images() == []
    wait_for(lambda: farm.engines.used("node1") < used + LAYER / 4)
    assert recap(farm.play()) == {"node0": 0, "node1": 1, "node2": 1}
    wait_for(lambda: not offers())


def test_a_disk_without_room(farm: Farm) -> None:
    image = publish(farm)
    farm.engines.docker("node0", "load", given=image.saved(NAME))
    disk = farm.engines.folder / "node2"
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    other = disk / "other"
    subprocess.run(["fallocate", "-l", str(free - 4 * LAYER), str(other)], check=True)
    try:
        refused(
            farm.play(),
            rf"node2: image {NAME} needs 25\.2 MB in {disk}/docker while it arrives \(twice its size, as "
            r"Docker unpacks it there\), got 16\.8 MB free; make room there, as with docker image prune",
        )
        assert farm.engines.engine("node2").images() == []
    finally:
        other.unlink()


def test_a_disk_that_fills_up_on_the_way(farm: Farm) -> None:
    image = publish(farm)
    farm.engines.docker("node0", "load", given=image.saved(NAME))
    before = farm.received("node2")
    other = farm.engines.folder / "node2" / "other"
    farm.slow("node0", "add")
    try:
        playing = farm.begin()
        wait_for(lambda: farm.received("node2") - before > LAYER)
        # Docker writes at the same time, so nobody knows how much it takes.
        subprocess.run(["dd", "if=/dev/zero", f"of={other}", "bs=1M"], check=False)
        said = playing.communicate()[0]
    finally:
        farm.slow("node0", "del")
        other.unlink(missing_ok=True)
    assert playing.returncode == 2, said
    found = re.search(
        rf"node2: image {NAME} from node0 could not be loaded after [\d.]+ MB \(.*no space left on device\); "
        "Docker has kept nothing of it, cure what it says and run again",
        " ".join(said.split()),
    )
    assert found, said
    assert farm.engines.engine("node2").images() == []
    assert (farm.engines.image("node1", NAME) or {})["RootFS"]["Layers"] == image.diff_ids
    assert recap(farm.play()) == {"node0": 0, "node1": 0, "node2": 1}
