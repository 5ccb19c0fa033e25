# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The command line beside deploy: help, usage errors, chat."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ansible_collections.samewire.vllm.plugins.plugin_utils import _certificate
from samewire import cli, locate, options
from tests.unit.certificates import NOW, issued


def call(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli.app, arguments, catch_exceptions=False)
    return result.exit_code, result.output


def test_version() -> None:
    assert call("--version") == (0, f"samewire {version('samewire')}\n")


def test_help_tells_the_exit_codes() -> None:
    code, text = call("deploy", "--help")
    assert code == 0
    assert " ".join(text.split()).endswith(
        "Exit status: 0 done; 1 failed on the way; 2 the command line is wrong; "
        "3 refused before anything was changed; 4 a host is unreachable; 130 interrupted."
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["deploy", "-i", "nowhere"],
            "Invalid value for '--inventory': No inventory nowhere: expected a file, a folder or "
            "one of {shipped}.",
        ),
        (
            ["deploy", "-i", "lab", "-e", "word"],
            "Invalid value for '--extra-vars': expected KEY=VALUE, a mapping or @FILE, got word",
        ),
        (
            ["deploy", "-i", "lab", "-e", "{1: a}"],
            "Invalid value for '--extra-vars': expected a mapping with names of variables, got {{1: 'a'}}",
        ),
        (
            ["deploy", "-i", "lab", "-e", "@/nowhere.yml"],
            "Invalid value for '--extra-vars': expected a file with variables, got /nowhere.yml ([Errno 2] "
            "No such file or directory: '/nowhere.yml')",
        ),
        (
            ["deploy", "-i", "lab", "-e", "ray_node_mounts=[a"],
            "Invalid value for '--extra-vars': expected a value in YAML for ray_node_mounts, got [a "
            "(expected ',' or ']', but got '<stream end>')",
        ),
    ],
)
def test_wrong_usage(arguments: list[str], message: str) -> None:
    inventories = locate.collection() / "inventories"
    shipped = ", ".join(sorted(folder.name for folder in inventories.iterdir()))
    code, text = call(*arguments)
    assert code == 2
    assert text.splitlines()[-1] == "Error: " + message.format(shipped=shipped)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "all: {}\n",
            "The inventory INVENTORY names no host: expected those of a cluster, got: none; "
            "see the inventories that come with Samewire.",
        ),
        (
            "- a list\n",
            "The inventory INVENTORY names no host: expected those of a cluster, got: YAML "
            "inventory has invalid structure, it should be a dictionary, got: <class "
            "'ansible.module_utils._internal._datatag._AnsibleTaggedList'>; "
            "see the inventories that come with Samewire.",
        ),
        (
            "all:\n  hosts:\n    a: {cluster_name: one}\n    b: {cluster_name: two}\n",
            "The inventory INVENTORY has hosts of several clusters: one, two; expected one "
            "cluster_name for all, set in group_vars/all.",
        ),
    ],
    ids=["empty", "list", "two clusters"],
)
def test_an_inventory_that_is_none(content: str, message: str, tmp_path: Path) -> None:
    inventory = tmp_path / "hosts.yml"
    inventory.write_text(content, encoding="utf-8")
    code, text = call("deploy", "-i", str(inventory))
    assert (code, text.replace(str(inventory), "INVENTORY")) == (3, message + "\n")


def test_the_name_of_a_shipped_inventory_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])  # where a folder of the same name is
    assert locate.inventory("lab") == locate.collection() / "inventories" / "lab"
    assert locate.inventory("./lab") == Path.cwd() / "lab"


@pytest.mark.parametrize("verb", ["deploy", "stop"])
def test_the_name_of_a_cluster_is_no_path(verb: str, data: Path, tmp_path: Path) -> None:
    code, text = call(verb, "-i", str(data / "hosts.yml"), "-e", "cluster_name=../../out")
    assert (code, text) == (
        3,
        "The cluster_name is '../../out': expected a letter or a digit, then letters, digits, '_', '.' and "
        "'-', at most 63 in all; correct it in the inventory.\n",
    )
    assert list(tmp_path.iterdir()) == []


class Server(BaseHTTPRequestHandler):
    """Answers a chat with what it was asked."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        known = self.headers["Authorization"] == "Bearer right"
        text = f"{body['model']}: {body['messages'][0]['content']}"
        answer = {"choices": [{"message": {"content": text}}]} if known else {"error": "no key"}
        self.send_response(200 if known else 401)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1/chat/completions"
    server.shutdown()
    server.server_close()


@pytest.fixture
def chat(data: Path, tmp_path: Path) -> Any:
    """Return a function that asks a cluster whose record names a URL."""

    def ask(chat_url: str, *options: str) -> tuple[int, str]:
        done = (data / "events" / "done.jsonl").read_text(encoding="utf-8").splitlines()[-1]
        record = json.loads(done)["event_data"]["artifact_data"]["samewire_record"]
        record["endpoints"]["chat"] = chat_url
        folder = tmp_path / ".samewire" / "clusters" / "example"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "record.json").write_text(json.dumps(record), encoding="utf-8")
        return call("chat", "-i", str(data / "hosts.yml"), *options, "Hello")

    return ask


def test_chat(chat: Any, url: str) -> None:
    assert chat(url, "--api-key", "right") == (0, "tiny: Hello\n")


def test_chat_takes_the_key_of_the_deployment(chat: Any, url: str, tmp_path: Path) -> None:
    folder = tmp_path / ".samewire" / "clusters" / "example"
    folder.mkdir(parents=True)
    (folder / "api_key").write_text("right", encoding="utf-8")
    assert chat(url) == (0, "tiny: Hello\n")


def test_chat_without_the_key(chat: Any, url: str) -> None:
    code, text = chat(url)
    assert (code, text) == (
        1,
        f'example refused the question: expected status 200 from {url}, got 401: {{"error": "no key"}}\n',
    )


def test_chat_with_nobody(chat: Any) -> None:
    assert chat("http://127.0.0.1:1/v1") == (
        1,
        "example does not answer: expected a server at http://127.0.0.1:1/v1, got ConnectionError; "
        "deploy it again, or look at the logs of its containers.\n",
    )


@pytest.fixture
def tls(url: str, tmp_path: Path) -> Any:
    """Return a function that makes the server speak TLS with the first certificate, and keeps the second."""

    def speak(served: tuple[str, str], kept: str | None) -> str:
        folder = tmp_path / ".samewire" / "clusters" / "example"
        folder.mkdir(parents=True)
        if kept is not None:
            (folder / "api.crt").write_text(kept, encoding="utf-8")
        for name, text in zip(("crt", "key"), served, strict=True):
            (tmp_path / name).write_text(text, encoding="utf-8")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tmp_path / "crt", tmp_path / "key")
        server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"https://localhost:{server.server_port}/v1/chat/completions"

    servers: list[ThreadingHTTPServer] = []
    yield speak
    for server in servers:
        server.shutdown()
        server.server_close()


RIGHT, OTHER, ELSEWHERE = (issued(name) for name in ("localhost", "localhost", "api.example.org"))


def test_chat_trusts_the_certificate_of_the_deployment(chat: Any, tls: Any) -> None:
    made = _certificate.make("example", ["localhost"], NOW)
    assert chat(tls(made, made[0]), "--api-key", "right") == (0, "tiny: Hello\n")


def test_chat_trusts_one_whose_issuer_is_not_known(chat: Any, tls: Any) -> None:
    assert chat(tls(RIGHT, RIGHT[0]), "--api-key", "right") == (0, "tiny: Hello\n")


@pytest.mark.parametrize(
    ("served", "kept", "reason"),
    [
        (RIGHT, OTHER[0], "unable to get local issuer certificate"),
        (RIGHT, None, "unable to get local issuer certificate"),
        (
            ELSEWHERE,
            ELSEWHERE[0],
            "Hostname mismatch, certificate is not valid for 'localhost'",
        ),
    ],
)
def test_chat_with_somebody_else(
    chat: Any, tls: Any, tmp_path: Path, served: Any, kept: str | None, reason: str
) -> None:
    url = tls(served, kept)
    expected = f"the certificate in {tmp_path}/.samewire/clusters/example/api.crt"
    assert chat(url, "--api-key", "right") == (
        1,
        f"example cannot be trusted: expected {expected if kept else 'one the system trusts'} from {url}, "
        f"got another ({reason}); deploy it again from here, or see who answers there.\n",
    )


def test_chat_before_a_deployment(data: Path, tmp_path: Path) -> None:
    code, text = call("chat", "-i", str(data / "hosts.yml"), "Hello")
    assert (code, text) == (
        3,
        f"No record of the cluster example: expected {tmp_path}/.samewire/clusters/example/record.json, "
        "found nothing; run 'samewire deploy' first.\n",
    )


def test_the_list_of_verbs_is_whole_on_a_terminal_of_80_columns() -> None:
    shown = CliRunner().invoke(cli.app, ["--help"], env={"COLUMNS": "80"}, terminal_width=80)
    verbs = shown.output.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert len(verbs) > 10
    assert [line for line in verbs if line.endswith("...")] == []


def test_it_completes() -> None:
    words = {"_SAMEWIRE_COMPLETE": "complete_bash", "COMP_WORDS": "samewire te", "COMP_CWORD": "1"}
    program = Path(sys.executable).parent / "samewire"
    done = subprocess.run(
        [program], env={**os.environ, **words}, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["teardown"]


def test_variables_in_the_forms_of_ansible(tmp_path: Path) -> None:
    (tmp_path / "more.yml").write_text("c: [3]\n")
    given = options.variables(["a=1", '{"b": {"x": "y=z"}}', f"@{tmp_path}/more.yml", "a=2", "d="])
    assert given == {"a": 2, "b": {"x": "y=z"}, "c": [3], "d": ""}
