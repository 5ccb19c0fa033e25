# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Images without programs, as Docker loads and saves them, and as a registry keeps them."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_CONFIG = "application/vnd.docker.container.image.v1+json"
_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def layer(name: str, content: bytes) -> bytes:
    """Return a layer of one file."""
    return tarred({name: content})


def tarred(files: Mapping[str, bytes]) -> bytes:
    """Return files as a tar file."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


@dataclass(frozen=True)
class Image:
    """An image of some layers, the lowest first."""

    layers: Sequence[bytes]
    variables: Sequence[str] = ("PATH=/bin",)
    architecture: str = "amd64"

    @property
    def diff_ids(self) -> list[str]:
        return [digest(each) for each in self.layers]

    @property
    def config(self) -> bytes:
        return json.dumps(
            {
                "architecture": self.architecture,
                "os": "linux",
                "created": "2026-01-01T00:00:00Z",
                "config": {"Env": list(self.variables), "Cmd": ["/none"]},
                "rootfs": {"type": "layers", "diff_ids": self.diff_ids},
                "history": [
                    {"created": "2026-01-01T00:00:00Z", "created_by": f"layer {number}"}
                    for number in range(len(self.layers))
                ],
            }
        ).encode()

    @property
    def inspected(self) -> dict[str, Any]:
        """Return it as `docker image inspect` prints it, where a graph driver keeps it."""
        return {
            "Id": digest(self.config),
            "Architecture": self.architecture,
            "Config": json.loads(self.config)["config"],
            "RepoDigests": [],
            "RootFS": {"Type": "layers", "Layers": self.diff_ids},
            "Size": sum(map(len, self.layers)),
        }

    def saved(self, name: str) -> bytes:
        """Return it as `docker save` writes it since version 25."""
        paths = [f"blobs/{each.replace(':', '/')}" for each in self.diff_ids]
        config = f"blobs/{digest(self.config).replace(':', '/')}"
        described = [{"Config": config, "RepoTags": [name], "Layers": paths}]
        return tarred(
            {
                **dict(zip(paths, self.layers, strict=True)),
                config: self.config,
                "manifest.json": json.dumps(described).encode(),
            }
        )

    def publish(self, folder: Path, tag: str) -> None:
        """Put it where the registry finds it."""
        blobs = [gzip.compress(each, 1, mtime=0) for each in self.layers]
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": _described(_CONFIG, self.config),
            "layers": [_described(_LAYER, blob) for blob in blobs],
        }
        text = json.dumps(manifest).encode()
        for content in (self.config, text, *blobs):
            (folder / digest(content)).write_bytes(content)
        (folder / tag).write_bytes(text)


def _described(kind: str, content: bytes) -> dict[str, str | int]:
    return {"mediaType": kind, "size": len(content), "digest": digest(content)}
