# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The record of a deployment, as the playbook writes it: schema samewire.record/1."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA = "samewire.record/1"


class RecordError(ValueError):
    """A record that cannot be read; the message is one sentence."""


@dataclass(frozen=True)
class Node:
    """A host of the cluster."""

    name: str
    address: str
    gpus: int
    role: str


@dataclass(frozen=True)
class Record:
    """What was deployed and proven."""

    cluster: str
    url: str
    model: str
    endpoints: Mapping[str, str]
    nodes: tuple[Node, ...]
    transport: str
    network: str
    prompt: str
    text: str

    @classmethod
    def parse(cls, raw: Mapping[str, Any], source: str) -> Record:
        """Read a record; source names it in messages.

        Raises:
            RecordError: It has another schema, or a key is missing.
        """
        if raw.get("schema") != SCHEMA:
            raise RecordError(
                f"{source}: expected the schema {SCHEMA}, got {raw.get('schema')}; deploy again."
            )
        try:
            return cls(
                cluster=raw["cluster"],
                url=raw["url"],
                model=raw["model"],
                endpoints=raw["endpoints"],
                nodes=tuple(
                    Node(name, node["address"], node["gpus"], node["role"])
                    for name, node in sorted(raw["nodes"].items(), key=_head_first)
                ),
                transport=raw["transport"],
                network=raw["network"],
                prompt=raw["completion"]["prompt"],
                text=raw["completion"]["text"],
            )
        except KeyError as missing:
            key = missing.args[0]
            raise RecordError(f"{source}: the key {key} is missing; deploy again.") from None

    def curl(self, key_file: Path | None = None, certificate: Path | None = None) -> str:
        """Return a command that asks the deployment for a completion.

        key_file, certificate: the files that hold the key and the certificate of its API.
        """
        body = json.dumps({"model": self.model, "prompt": self.prompt, "max_tokens": 16})
        return (
            f"curl -s {_trust(certificate)}{self.endpoints['completions']} "
            f"-H 'Content-Type: application/json' {_authorization(key_file)}-d {shlex.quote(body)}"
        )


def load(folder: Path) -> Record:
    """Read the record that a deployment left in the folder of its cluster.

    Raises:
        RecordError: There is none, or it cannot be read.
    """
    file = folder / "record.json"
    try:
        raw = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RecordError(
            f"No record of the cluster {folder.name}: expected {file}, found nothing; "
            "run 'samewire deploy' first."
        ) from None
    except ValueError:
        raise RecordError(f"{file}: expected JSON, got something else; deploy again.") from None
    return Record.parse(raw, str(file))


def key_file(folder: Path) -> Path | None:
    """Return the file that holds the key of a cluster's API, None where it asks for none."""
    file = folder / "api_key"
    return file if file.is_file() else None


def certificate_file(folder: Path) -> Path | None:
    """Return the file that holds the certificate of a cluster's API, None where it speaks plain HTTP."""
    file = folder / "api.crt"
    return file if file.is_file() else None


def _trust(certificate: Path | None) -> str:
    return f"--cacert {shlex.quote(str(certificate))} " if certificate else ""


def _authorization(key_file: Path | None) -> str:
    if key_file is None:
        return ""
    return f'-H "Authorization: Bearer $(cat {shlex.quote(str(key_file))})" '


def _head_first(item: tuple[str, Mapping[str, Any]]) -> tuple[bool, str]:
    name, node = item
    return node["role"] != "head", name
