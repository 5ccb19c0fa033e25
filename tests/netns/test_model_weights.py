# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The role model_weights, run by Ansible on hosts whose disks, like their networks, are their own."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.netns.cluster import Cluster, cluster, sshd
from tests.unit.modules import ROOT

HOSTS = ("node0", "node1", "node2")
SHARD = 24 << 20
SLOW = "rate 80mbit burst 64kb latency 200ms"
PLAY = [
    {
        "name": "Have the weights everywhere",
        "hosts": "ray_head:ray_workers",
        "gather_facts": False,
        "any_errors_fatal": True,
        "roles": [
            {
                "role": "samewire.vllm.model_weights",
                "vars": {
                    "model_weights_model": "{{ vllm_server_model }}",
                    "model_weights_cluster": "trial",
                    "model_weights_head": "node0",
                    "model_weights_plan": "{{ wire_plan }}",
                    "model_weights_directory": "{{ disk }}/own",
                    "model_weights_hub_cache": "{{ disk }}/hub",
                },
            }
        ],
    }
]


def shard(size: int, seed: int) -> bytes:
    """Return a safetensors file of one tensor that does not compress."""
    tensor = {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}
    header = json.dumps({f"t{seed}": tensor}).encode()
    noise = b"".join(
        hashlib.sha256(f"{seed} {number}".encode()).digest() * 32 for number in range(size // 1024)
    )
    return len(header).to_bytes(8, "little") + header + noise


def write_model(folder: Path, seed: int = 0) -> None:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"seed": seed}))
    names = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    index = {"weight_map": {f"t{number}": name for number, name in enumerate(names)}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    for number, name in enumerate(names):
        (folder / name).write_bytes(shard(SHARD, seed + number))
    (folder / "extra").mkdir()
    (folder / "extra" / "vocab.txt").write_text("a b c")
    (folder / ".git").mkdir()
    (folder / ".git" / "objects").write_bytes(b"not sent")


class Disks:
    """A disk for each host: a tmpfs at the same path in the mount namespace of its sshd."""

    def __init__(self, of: Cluster) -> None:
        self.cluster = of
        self.path = of.folder / "disk"
        self.path.mkdir()
        of.folder.joinpath("weights.yml").write_text(json.dumps(PLAY))

    def renew(self, host: str, megabytes: int = 400) -> None:
        """Give a host an empty disk."""
        self.inside(host, "umount", "-l", str(self.path), check=False)
        size = f"size={megabytes}m"
        self.inside(host, "mount", "-t", "tmpfs", "-o", size, "tmpfs", str(self.path))

    def inside(self, host: str, *argv: str, check: bool = True) -> str:
        pid = (self.cluster.folder / f"{host}.pid").read_text().strip()
        done = subprocess.run(
            ["nsenter", "-t", pid, "-m", "-n", *argv], check=check, capture_output=True, text=True
        )
        return done.stdout

    def put(self, host: str, seed: int = 0) -> None:
        """Give a host the model."""
        made = self.cluster.folder / f"model{seed}"
        if not made.exists():
            write_model(made, seed)
        self.inside(host, "cp", "-a", str(made), f"{self.path}/model")

    def content(self, host: str) -> dict[str, str]:
        """Return hash, mode and owner of the files of the model, by name."""
        listed = self.inside(
            host, "sh", "-c", f"cd {self.path}/model && find . -type f -printf '%P %m %U\\n' | sort"
        )
        sums = self.inside(
            host, "sh", "-c", f"cd {self.path}/model && find . -type f | sort | xargs sha256sum"
        )
        hashes = {line.split()[1][2:]: line.split()[0] for line in sums.splitlines()}
        return {
            name: f"{hashes[name][:12]} {mode} {owner}"
            for name, mode, owner in (line.split() for line in listed.splitlines())
            if not name.startswith(".git")
        }

    def hidden(self, host: str) -> str:
        return self.inside(host, "sh", "-c", f"ls -d {self.path}/.*.samewire || true").strip()

    def play(self, *more: str, model: str | None = None) -> subprocess.CompletedProcess[str]:
        return self.cluster.run("playbook", *self.arguments(model), *more)

    def arguments(self, model: str | None = None) -> list[str]:
        variables = {"disk": str(self.path), "vllm_server_model": model or f"{self.path}/model"}
        return ["weights.yml", "-e", "@plan.json", "-e", json.dumps(variables)]

    def carried(self, host: str, interface: str) -> int:
        """Return how many bytes an interface has carried, both ways."""
        shown = subprocess.run(
            ["ip", "-n", self.cluster.segment.full(host), "-s", "-j", "link", "show", interface],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        counted = json.loads(shown)[0]["stats64"]
        return int(counted["rx"]["bytes"]) + int(counted["tx"]["bytes"])


@pytest.fixture(scope="module")
def three(can_make_namespaces: None) -> Iterator[Disks]:
    if sshd() is None:
        pytest.skip("openssh-server is not installed")
    if shutil.which("rsync") is None:
        pytest.skip("rsync is not installed")
    with cluster(3) as each:
        yield Disks(each)


@pytest.fixture
def disks(three: Disks) -> Disks:
    for host in HOSTS:
        three.renew(host)
    return three


def recap(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """Return how many tasks changed something, by host."""
    found = re.findall(r"^(node\d) .*changed=(\d+) .*failed=0", done.stdout, re.MULTILINE)
    return {host: int(changed) for host, changed in found}


def offers() -> list[str]:
    """Return what stands in the folder that the hosts share for what is temporary."""
    return [str(path) for path in Path("/tmp").glob("samewire-weights-*")]


def slow(disks: Disks, host: str, verb: str) -> None:
    argv = ["tc", "-n", disks.cluster.segment.full(host), "qdisc", verb, "dev", "fabric", "root"]
    subprocess.run([*argv, "tbf", *SLOW.split()], check=True, capture_output=True)


def test_the_others_get_what_the_head_has_over_the_interconnect(disks: Disks) -> None:
    disks.put("node0")
    disks.inside("node0", "chmod", "640", f"{disks.path}/model/config.json")
    disks.inside("node0", "chmod", "750", f"{disks.path}/model")
    disks.inside("node0", "chown", "1234", f"{disks.path}/model/config.json")
    before = {host: disks.carried(host, "management") for host in HOSTS}
    fabric = {host: disks.carried(host, "fabric") for host in HOSTS}

    looked = disks.play("--check")
    assert looked.returncode == 0, looked.stdout
    said = "receives 50.3 MB of weights in 5 files from node0 over the interconnect"
    assert f"node1: {said}" in looked.stdout
    assert f"node2: {said}" in looked.stdout
    assert recap(looked) == {"node0": 0, "node1": 1, "node2": 1}
    assert disks.inside("node1", "ls", "-A", str(disks.path)) == ""

    done = disks.play()
    assert done.returncode == 0, done.stdout
    assert "node1: received and verified 50.3 MB of weights" in done.stdout
    assert recap(done) == {"node0": 0, "node1": 1, "node2": 1}
    expected = disks.content("node0")
    assert expected["config.json"].endswith(" 640 1234")
    assert disks.content("node1") == disks.content("node2") == expected
    assert disks.inside("node1", "stat", "-c", "%a", f"{disks.path}/model") == "750\n"
    assert disks.inside("node1", "ls", "-A", f"{disks.path}/model").split() == [
        "config.json",
        "extra",
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
        "model.safetensors.index.json",
    ]
    for host in HOSTS:
        # Ansible's own modules are all that the management network carries.
        assert disks.carried(host, "management") - before[host] < 5_000_000
    assert disks.carried("node0", "fabric") - fabric["node0"] > 2 * 2 * SHARD
    assert disks.carried("node1", "fabric") - fabric["node1"] > 2 * SHARD
    assert [disks.hidden(host) for host in HOSTS] == ["", "", ""]
    assert offers() == []

    again = disks.play()
    assert recap(again) == {"node0": 0, "node1": 0, "node2": 0}
    assert "Receive the weights" not in again.stdout


def test_only_what_differs_is_sent(disks: Disks) -> None:
    for host in HOSTS:
        disks.put(host)
    damaged = f"{disks.path}/model/model-00002-of-00002.safetensors"
    disks.inside("node2", "truncate", "-s", "-1", damaged)
    fabric = disks.carried("node2", "fabric")
    done = disks.play()
    assert recap(done) == {"node0": 0, "node1": 0, "node2": 1}, done.stdout
    assert disks.content("node2") == disks.content("node0")
    assert SHARD < disks.carried("node2", "fabric") - fabric < 1.5 * SHARD


def test_a_worker_that_alone_has_the_model_gives_it(disks: Disks) -> None:
    disks.put("node2")
    done = disks.play()
    assert recap(done) == {"node0": 1, "node1": 1, "node2": 0}, done.stdout
    assert disks.content("node0") == disks.content("node1") == disks.content("node2")


def test_a_model_of_one_file(disks: Disks) -> None:
    disks.inside("node0", "sh", "-c", f"head -c 3000000 /dev/urandom > {disks.path}/a.gguf")
    disks.inside("node0", "sh", "-c", f"echo private > {disks.path}/b.gguf")
    done = disks.play(model=f"{disks.path}/a.gguf")
    assert recap(done) == {"node0": 0, "node1": 1, "node2": 1}, done.stdout
    assert disks.inside("node1", "ls", "-A", str(disks.path)).split() == ["a.gguf", "own"]
    sums = [disks.inside(host, "sha256sum", f"{disks.path}/a.gguf") for host in HOSTS]
    assert len(set(sums)) == 1


def put_in_cache(disks: Disks, host: str, commit: str = "c0ffee") -> str:
    """Give a host a model in its cache of the hub, and return the folder."""
    made = disks.cluster.folder / "cache"
    if not made.exists():
        files = {"config.json": b"{}", "model.safetensors": shard(3 << 20, 5)}
        (made / "snapshots" / commit).mkdir(parents=True)
        (made / "blobs").mkdir()
        (made / "refs").mkdir()
        (made / "refs" / "main").write_text(commit)
        (made / "blobs" / "of-another-revision").write_bytes(b"not sent")
        for name, content in files.items():
            blob = hashlib.sha256(content).hexdigest()
            (made / "blobs" / blob).write_bytes(content)
            (made / "snapshots" / commit / name).symlink_to(f"../../blobs/{blob}")
    folder = f"{disks.path}/hub/hub/models--org--tiny"
    disks.inside(host, "mkdir", "-p", str(Path(folder).parent))
    disks.inside(host, "cp", "-a", str(made), folder)
    return folder


def test_a_model_of_the_hub_goes_with_its_links(disks: Disks) -> None:
    folder = put_in_cache(disks, "node1")
    done = disks.play(model="org/tiny")
    assert recap(done) == {"node0": 1, "node1": 0, "node2": 1}, done.stdout
    listed = [
        disks.inside(host, "sh", "-c", f"cd {folder} && find . -printf '%P %m %s %l\n' | sort")
        for host in HOSTS
    ]
    assert listed[0] == listed[2]
    sent = set(listed[0].splitlines())
    # What belongs to other revisions stays, and with it the size of the folder that holds it.
    assert {line for line in sent if " ../../blobs/" in line} <= set(listed[1].splitlines())
    assert "of-another-revision" not in listed[0]
    assert recap(disks.play(model="org/tiny")) == {"node0": 0, "node1": 0, "node2": 0}
    disks.inside("node0", "sh", "-c", f"cat {folder}/snapshots/*/model.safetensors > /dev/null")


def test_a_damaged_blob_comes_again_from_a_host_that_has_it_whole(disks: Disks) -> None:
    for host in ("node0", "node1"):
        folder = put_in_cache(disks, host)
    blob = f"$(readlink -f {folder}/snapshots/*/model.safetensors)"
    overwrite = f"printf x | dd of={blob} bs=1 seek=2000000 conv=notrunc"
    disks.inside("node0", "sh", "-c", overwrite)
    done = disks.play(model="org/tiny")
    assert recap(done) == {"node0": 1, "node1": 0, "node2": 1}, done.stdout
    sums = [disks.inside(host, "sh", "-c", f"sha256sum {blob}") for host in HOSTS]
    assert len(set(sums)) == 1


def test_a_hub_that_no_host_reaches(disks: Disks) -> None:
    endpoint = '{"model_weights_environment": {"HF_ENDPOINT": "http://10.99.0.1:80"}}'
    refused(
        disks.play("-e", endpoint, model="org/tiny"),
        "no host has org/tiny, and the hub at http://10.99.0.1:80 is not reached (node0: [Errno 101] "
        "Network is unreachable, node1: [Errno 101] Network is unreachable, node2: [Errno 101] Network is "
        "unreachable); "
        "open the way to it from one host, set HF_ENDPOINT or HTTPS_PROXY in ray_node_environment, or copy "
        "the model to a host and give its path as vllm_server_model",
    )


def refused(done: subprocess.CompletedProcess[str], sentence: str) -> None:
    assert done.returncode == 2, done.stdout
    assert sentence in " ".join(done.stdout.replace("\\n", "\n").split()), done.stdout


def test_nobody_has_the_model(disks: Disks) -> None:
    refused(
        disks.play(),
        f"no host has the model: expected {disks.path}/model on at least one of node0, node1, node2; "
        "copy it to node0, correct vllm_server_model, or give a hub id",
    )


def test_two_hosts_have_different_ones(disks: Disks) -> None:
    disks.put("node0")
    disks.put("node1", seed=7)
    sentence = (
        f"node0 and node1 have different weights in {disks.path}/model: config.json has 11 bytes "
    )
    refused(disks.play(), sentence)
    done = disks.play("-e", "model_weights_source=node1")
    assert recap(done) == {"node0": 1, "node1": 0, "node2": 1}, done.stdout
    assert disks.content("node0") == disks.content("node2") == disks.content("node1")


def test_a_disk_that_is_too_small(disks: Disks) -> None:
    disks.put("node0")
    disks.renew("node2", megabytes=20)
    refused(
        disks.play(),
        f"node2: {disks.path}/model needs 50.3 MB more, got 21.0 MB free on its disk; make room on node2",
    )
    assert disks.inside("node1", "ls", "-A", str(disks.path)).split() == ["own"]


def test_a_disk_that_fills_up_on_the_way(disks: Disks) -> None:
    disks.put("node0")
    slow(disks, "node0", "add")
    try:
        playing = start(disks)
        wait_for(lambda: staged(disks, "node2") > 4_000_000)
        disks.inside("node2", "fallocate", "-l", "370m", f"{disks.path}/other")
        said = playing.communicate()[0]
    finally:
        slow(disks, "node0", "del")
    flat = " ".join(said.split())
    assert playing.returncode == 2
    assert f"node2: receiving {disks.path}/model from node0 at 10.77.0.1 broke off after " in flat
    assert "No space left on device (28)); what has arrived is kept, run again" in flat
    assert disks.inside("node2", "ls", f"{disks.path}/model", check=False) == ""
    disks.inside("node2", "rm", f"{disks.path}/other")
    assert disks.play().returncode == 0
    assert disks.content("node2") == disks.content("node0")
    assert offers() == []


def start(disks: Disks) -> subprocess.Popen[str]:
    """Start the play, for a test that interferes."""
    argv = [sys.executable, "-m", "ansible", "playbook", "-i", "inventory.json"]
    return subprocess.Popen(
        ["ip", "netns", "exec", disks.cluster.controller, *argv, *disks.arguments()],
        cwd=disks.cluster.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(disks.cluster.folder / "cp"),
        },
    )


def processes(disks: Disks, host: str) -> dict[int, str]:
    """Return the names of the processes of a host, by pid; its sshd is not among them."""
    listed = subprocess.run(
        ["ip", "netns", "pids", disks.cluster.segment.full(host)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names = {int(pid): Path(f"/proc/{pid}/comm") for pid in listed.split()}
    found = {pid: name.read_text().strip() for pid, name in names.items() if name.exists()}
    return {pid: name for pid, name in found.items() if not name.startswith("sshd")}


def staged(disks: Disks, host: str) -> int:
    shown = disks.inside(host, "sh", "-c", f"du -sb {disks.path}/.model.samewire || true")
    return int(shown.split()[0]) if shown else 0


def wait_for(condition: Any) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "what the test waits for did not come"
        time.sleep(0.1)


def test_a_source_that_dies_on_the_way(disks: Disks) -> None:
    disks.put("node0")
    slow(disks, "node0", "add")
    try:
        playing = start(disks)
        wait_for(lambda: min(staged(disks, "node1"), staged(disks, "node2")) > 4_000_000)
        pids = [pid for pid, name in processes(disks, "node0").items() if name == "rsync"]
        assert pids
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        said = playing.communicate()[0]
    finally:
        slow(disks, "node0", "del")
    assert playing.returncode == 2
    flat = " ".join(said.split())
    found = re.search(
        r"node1: receiving \S+/model from node0 at 10\.77\.0\.1 broke off after ([\d.]+) MB of 50\.3 MB "
        r"\([^)]*\(?[^)]*\)?[^)]*\); what has arrived is kept, run again",
        flat,
    )
    assert found, said
    assert disks.inside("node1", "ls", f"{disks.path}/model", check=False) == ""
    assert offers() == []

    arrived, fabric = staged(disks, "node1"), disks.carried("node1", "fabric")
    assert arrived > 4_000_000
    done = disks.play()
    assert done.returncode == 0, done.stdout
    assert disks.content("node1") == disks.content("node2") == disks.content("node0")
    # What had arrived did not come again.
    assert disks.carried("node1", "fabric") - fabric < 2 * SHARD - arrived + 3_000_000
    assert disks.hidden("node1") == ""


def test_a_receiver_that_is_killed_resumes(disks: Disks) -> None:
    disks.put("node0")
    slow(disks, "node0", "add")
    try:
        playing = start(disks)
        wait_for(lambda: staged(disks, "node1") > 4_000_000)
        for pid in processes(disks, "node1"):
            os.kill(pid, signal.SIGKILL)
        playing.communicate()
    finally:
        slow(disks, "node0", "del")
    assert playing.returncode != 0
    # Of a host whose processes were all killed the note of the job stays until it boots.
    for note in offers():
        shutil.rmtree(note)
    assert staged(disks, "node1") > 4_000_000
    done = disks.play()
    assert done.returncode == 0, done.stdout
    assert disks.content("node1") == disks.content("node0")
