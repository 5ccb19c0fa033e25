# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The program that downloads: the real library of the hub, against the lab's small hub."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from samewire_lab.hub import Hub, Repository

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("huggingface_hub") is None, reason="huggingface_hub is not installed"
)
PROGRAM = Path(__file__).parents[3] / "roles/model_weights/files/hub_download.py"
MODEL = "org/tiny"
# The library writes ten megabytes at a time.
SHARD = 24_000_000


class Cache:
    """A cache of the hub, and the program that fills it from one hub."""

    def __init__(self, home: Path, endpoint: str, before: str = "") -> None:
        self.before = before
        self.endpoint = endpoint
        self.home = home
        self.folder = home / "hub" / "models--org--tiny"

    def start(
        self,
        token: str = "",
        model: str = MODEL,
        revision: str = "main",
        damaged: Sequence[str] = (),
    ) -> Popen:
        environment = {
            name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ
        }
        environment |= {
            "HF_HOME": str(self.home),
            "HF_ENDPOINT": self.endpoint,
            "HF_HUB_OFFLINE": "0",
        }
        if token:
            (self.home / "given").write_text(token)
            environment["HF_TOKEN_PATH"] = str(self.home / "given")
        asked = {
            "model": model,
            "revision": revision,
            "exclude": ["original/*", "*.bin"],
            "damaged": list(damaged),
        }
        return subprocess.Popen(
            [sys.executable, "-c", self.program(), json.dumps(asked)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def program(self) -> str:
        """Return the program, with what a test changes before its first import."""
        first = "import hashlib\n"
        return PROGRAM.read_text().replace(first, self.before + first, 1)

    def download(self, **how: Any) -> tuple[int, str]:
        """Return the exit code, and what the last line says."""
        process = self.start(**how)
        out, err = process.communicate()
        lines = out.strip().splitlines()
        assert lines, err
        ((_, said),) = json.loads(lines[-1]).items()
        return process.returncode, said

    def parts(self) -> list[int]:
        return [path.stat().st_size for path in self.folder.glob("blobs/*.samewire")]


Popen = subprocess.Popen[str]


def serving(hub: Hub) -> AbstractContextManager[str]:
    return served(hub.server())


@contextmanager
def served(server: ThreadingHTTPServer) -> Iterator[str]:
    """Run a server and yield its URL."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "served" / MODEL
    (folder / "original").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    noise = random.Random(1)
    for name in ("model-1.safetensors", "model-2.safetensors"):
        (folder / name).write_bytes(noise.randbytes(SHARD))
    (folder / "pytorch_model.bin").write_bytes(b"the same, in another format")
    (folder / "original" / "consolidated.safetensors").write_bytes(b"the same again")
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def test_a_model_arrives_in_the_layout_of_the_cache(repository: Path, home: Path) -> None:
    hub = Hub({MODEL: Repository(repository)})
    with serving(hub) as endpoint:
        cache = Cache(home, endpoint)
        assert cache.download() == (0, "downloaded and verified 48.0 MB of weights")
        sent = hub.sent
        assert cache.download() == (0, "downloaded and verified 48.0 MB of weights")
    assert hub.sent == sent
    commit = (cache.folder / "refs/main").read_text()
    snapshot = cache.folder / "snapshots" / commit
    assert sorted(path.name for path in snapshot.rglob("*")) == [
        "config.json",
        "model-1.safetensors",
        "model-2.safetensors",
    ]
    for name in ("config.json", "model-1.safetensors"):
        assert (snapshot / name).is_symlink()
        assert (snapshot / name).read_bytes() == (repository / name).read_bytes()
    assert cache.parts() == []


def test_what_was_downloaded_is_found_without_the_hub(repository: Path, home: Path) -> None:
    with serving(Hub({MODEL: Repository(repository)})) as endpoint:
        assert Cache(home, endpoint).download()[0] == 0
    asked = (
        "from huggingface_hub import snapshot_download\n"
        f"print(snapshot_download({MODEL!r}, allow_patterns=['*.safetensors', '*.bin']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", asked],
        env={**os.environ, "HF_HOME": str(home), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (Path(done.stdout.strip()) / "config.json").exists()


def test_an_interrupted_download_resumes(repository: Path, home: Path) -> None:
    hub = Hub({MODEL: Repository(repository)}, rate=12_000_000)
    with serving(hub) as endpoint:
        cache = Cache(home, endpoint)
        process = cache.start()
        end = time.monotonic() + 60
        while len(cache.parts()) < 2 or min(cache.parts()) < 10_000_000:
            assert time.monotonic() < end
            time.sleep(0.05)
        process.kill()
        process.communicate()
        assert not (cache.folder / "refs/main").exists()
        arrived, hub.sent, hub.rate = sum(cache.parts()), 0, None
        assert cache.download() == (0, "downloaded and verified 48.0 MB of weights")
    assert len(hub.ranges) == 2
    assert sum(hub.ranges) == arrived
    assert hub.sent <= 2 * SHARD - arrived + 1_000_000
    shard = cache.folder / "snapshots" / (cache.folder / "refs/main").read_text()
    assert (shard / "model-1.safetensors").read_bytes() == (
        repository / "model-1.safetensors"
    ).read_bytes()


def test_a_file_that_arrives_damaged_is_thrown_away(repository: Path, home: Path) -> None:
    hub = Hub({MODEL: Repository(repository)})
    expected = hashlib.sha256((repository / "model-2.safetensors").read_bytes()).hexdigest()
    with serving(hub) as endpoint:
        (repository / "model-2.safetensors").write_bytes(bytes(SHARD))
        got = hashlib.sha256(bytes(SHARD)).hexdigest()
        cache = Cache(home, endpoint)
        said = f"expected SHA-256 {expected[:12]}, got {got[:12]}; run again"
        assert cache.download() == (1, f"model-2.safetensors arrived damaged: {said}")
    assert not (cache.folder / "blobs" / expected).exists()
    assert not (cache.folder / "refs").exists()
    assert cache.parts() == []


def test_a_damaged_blob_is_fetched_again(repository: Path, home: Path) -> None:
    hub = Hub({MODEL: Repository(repository)})
    blob = f"blobs/{hashlib.sha256((repository / 'model-1.safetensors').read_bytes()).hexdigest()}"
    with serving(hub) as endpoint:
        cache = Cache(home, endpoint)
        assert cache.download()[0] == 0
        (cache.folder / blob).write_bytes(b"x" * SHARD)
        hub.sent = 0
        assert cache.download(damaged=[blob])[0] == 0
    assert (cache.folder / blob).read_bytes() == (repository / "model-1.safetensors").read_bytes()
    assert SHARD <= hub.sent < 1.5 * SHARD


@pytest.mark.parametrize(("token", "hint"), [("", "no token"), ("wrong", "a token without it")])
def test_a_gated_model(repository: Path, home: Path, token: str, hint: str) -> None:
    with serving(Hub({MODEL: Repository(repository, token="right")})) as endpoint:
        cache = Cache(home, endpoint)
        assert cache.download(token=token) == (
            1,
            "org/tiny is gated, expected a token of an account that was granted access at "
            f"{endpoint}/org/tiny, got {hint}; set vllm_server_hf_token",
        )
        assert cache.download(token="right")[0] == 0


def test_a_model_that_the_hub_does_not_have(repository: Path, home: Path) -> None:
    with serving(Hub({MODEL: Repository(repository)})) as endpoint:
        cache = Cache(home, endpoint)
        assert cache.download(model="org/other") == (
            1,
            f"the hub at {endpoint} has no model org/other, or shows it only to others, got no token; "
            "correct vllm_server_model or set vllm_server_hf_token",
        )
        assert cache.download(revision="v9") == (
            1,
            "org/tiny has no revision v9; correct --revision in vllm_server_extra_args",
        )


def test_a_hub_that_answers_with_errors(repository: Path, home: Path) -> None:
    hub = Hub({MODEL: Repository(repository)}, failing=1000)
    with serving(hub) as endpoint:
        cache = Cache(home, endpoint)
        code, said = cache.download()
        assert code == 1
        begin = f"downloading org/tiny from {endpoint} broke off "
        assert re.fullmatch(rf"{begin}\(.*500.*\); what has arrived is kept, run again", said), said
        assert not (cache.folder / "refs").exists()
        hub.failing = 0
        assert cache.download() == (0, "downloaded and verified 48.0 MB of weights")


def test_connections_that_are_closed_on_the_way(repository: Path, home: Path) -> None:
    hub = Hub({MODEL: Repository(repository)}, cut=15_000_000)
    with serving(hub) as endpoint:
        # The library itself goes on where a connection ended.
        assert Cache(home, endpoint).download() == (0, "downloaded and verified 48.0 MB of weights")
    assert hub.ranges


def test_a_disk_that_is_too_small(repository: Path, home: Path) -> None:
    full = "import shutil, types\nshutil.disk_usage = lambda _: types.SimpleNamespace(free=9)\n"
    with serving(Hub({MODEL: Repository(repository)})) as endpoint:
        cache = Cache(home, endpoint, before=full)
        assert cache.download() == (
            1,
            "org/tiny needs 48.0 MB more, got 0.0 MB free on the disk of ray_node_hub_cache; make room, or "
            "set ray_node_hub_cache to another disk",
        )
    assert not (cache.folder / "blobs").exists()


def test_a_commit_as_revision_needs_no_ref(repository: Path, home: Path) -> None:
    own = Repository(repository)
    with serving(Hub({MODEL: own})) as endpoint:
        cache = Cache(home, endpoint)
        assert cache.download(revision=own.commit)[0] == 0
    assert (cache.folder / "snapshots" / own.commit / "config.json").exists()


def test_a_hub_that_is_not_there(home: Path) -> None:
    code, said = Cache(home, "http://127.0.0.1:9").download()
    assert code == 1
    assert said.startswith("downloading org/tiny from http://127.0.0.1:9 broke off (")
    assert said.endswith("; what has arrived is kept, run again")
