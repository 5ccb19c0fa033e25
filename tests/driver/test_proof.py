# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The role proof, really, on hosts that are this machine, whose Docker Engine and vLLM are stand-ins."""

from __future__ import annotations

import http.server
import json
import socketserver
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from samewire.exit_codes import ExitCode
from samewire.run import Ended, Request, run

ROOT = Path(__file__).parents[2]
KEY = "key-4f1d2c7a90"
ADDRESSES = {"spark0": "192.168.200.12", "spark1": "192.168.200.13", "spark2": "192.168.200.14"}
PLAN = {
    "schema": "samewire.plan/1",
    "cluster": "pair",
    "transport": "socket",
    "network": {"cidr": "192.168.200.0/24"},
    "hosts": {host: {"address": each, "interface": "eth1"} for host, each in ADDRESSES.items()},
}


class Quiet(http.server.BaseHTTPRequestHandler):
    """Answers a POST, or a GET that is none."""

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""

    def address_string(self) -> str:
        return "somewhere"


class Docker(Quiet):
    """Runs whatever it is told to in the container of Ray; the answer is Ray's nodes."""

    listed = json.dumps(
        {"nodes": dict.fromkeys(ADDRESSES.values(), 1), "ray": "2.55.0", "python": "3.12.3"}
    ).encode()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/containers/pair-ray/exec":
            self.answer(201, b'{"Id": "e1"}')
        else:
            head = b"\x01\0\0\0" + len(self.listed).to_bytes(4, "big")
            self.answer(200, head + self.listed)

    def do_GET(self) -> None:
        self.answer(200, b'{"ExitCode": 0}')


class Vllm(Quiet):
    """Completes for who has the key."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        known = self.headers["Authorization"] in (None, f"Bearer {KEY}")
        self.answer(200 if known else 401, b'{"choices": [{"text": " Paris"}]}')


@contextmanager
def serving(server: socketserver.BaseServer) -> Iterator[None]:
    with server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield
        server.shutdown()
        thread.join()


class Proof:
    """Proves the cluster of three hosts."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self._port = port
        self.kept = folder / "clusters/pair"

    def __call__(self, **variables: Any) -> Ended:
        hosts = {
            "vars": {
                "ansible_connection": "local",
                "ansible_python_interpreter": "{{ ansible_playbook_python }}",
                "interconnect_info": {"facts": {}},
            },
            "hosts": dict.fromkeys(ADDRESSES),
        }
        role = {
            "role": "samewire.vllm.proof",
            "vars": {
                "proof_plan": PLAN,
                "proof_head": "spark0",
                "proof_gpus": dict.fromkeys(ADDRESSES, 1),
                "proof_presets": dict.fromkeys(ADDRESSES, "generic"),
                "proof_directories": dict.fromkeys(ADDRESSES, "~/.samewire"),
                "proof_model": "tiny",
                "proof_image": {"reference": "vllm:1", "digest": "sha256:aa", "versions": {}},
                "proof_executor": "ray",
                "proof_master_port": 29501,
                "proof_api_port": self._port,
                "proof_record_directory": str(self.kept.parent),
                **variables,
            },
        }
        play = {"hosts": "all", "gather_facts": False, "roles": [role]}
        (self._folder / "hosts.yml").write_text(yaml.safe_dump({"all": hosts}))
        (self._folder / "proof.yml").write_text(yaml.safe_dump([play]))
        request = Request("proof.yml", self._folder / "hosts.yml", verbosity=3)
        return run(request, self._folder, lambda *_: None)

    def modes(self) -> dict[str, int]:
        return {each.name: stat.S_IMODE(each.stat().st_mode) for each in self.kept.iterdir()}


@pytest.fixture
def proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proof]:
    engine = tmp_path / "docker.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{engine}")
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", str(ROOT / "collections"))
    vllm = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Vllm)
    docker = socketserver.ThreadingUnixStreamServer(str(engine), Docker)
    with serving(docker), serving(vllm):
        yield Proof(tmp_path, vllm.server_port)


def test_a_proof_is_kept_and_its_key_told_once(proof: Proof) -> None:
    own = {"proof_api_key": KEY, "proof_api_key_made": True, "proof_api_certificate": ""}
    first = proof(**own)
    assert first.exit_code is ExitCode.DONE, first.output
    assert proof.modes() == {
        "plan.json": 0o644,
        "record.json": 0o644,
        "hosts.json": 0o644,
        "api_key": 0o600,
    }
    assert (proof.kept / "api_key").read_text() == KEY
    assert json.loads((proof.kept / "plan.json").read_text()) == PLAN
    assert sorted(json.loads((proof.kept / "hosts.json").read_text())["hosts"]) == sorted(ADDRESSES)
    record = json.loads((proof.kept / "record.json").read_text())
    assert record["completion"] == {"prompt": "The capital of France is", "text": " Paris"}
    assert record["versions"] == {"ray": "2.55.0", "python": "3.12.3"}
    told = first.progress.artifacts
    assert told["samewire_record"]["nodes"] == record["nodes"]
    assert told["samewire_new_api_key"] == f"{proof.kept}/api_key"
    assert first.progress.changed == 1
    assert KEY not in first.output

    again = proof(**own)
    assert (again.progress.changed, again.exit_code) == (0, ExitCode.DONE)
    assert "samewire_new_api_key" not in again.progress.artifacts

    open_to_all = proof()
    assert open_to_all.progress.changed == 1
    assert sorted(proof.modes()) == ["hosts.json", "plan.json", "record.json"]


def test_what_does_not_answer_is_named(proof: Proof) -> None:
    ended = proof(proof_api_key=f"{KEY}-other")
    assert ended.exit_code is ExitCode.FAILED
    assert "spark0: vLLM at http://127.0.0.1:" in ended.output
    assert "refuses the API key (status 401)" in ended.output
    assert f"{KEY}-other" not in ended.output
    assert not proof.kept.exists()
