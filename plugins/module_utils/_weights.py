# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Judge whether all hosts have the same, whole weights.

Source of the formats: safetensors (eight bytes of length, little endian, then a header in JSON whose
data_offsets are counted from its end); Hugging Face's index of shards, *.safetensors.index.json; the
fields of /proc/self/mountinfo, proc_pid_mountinfo(5).
"""

from __future__ import annotations

import json
import posixpath
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

# What vLLM and transformers read from the folder of a model.
READ = (
    ".safetensors",
    ".bin",
    ".pt",
    ".gguf",
    ".json",
    ".model",
    ".tiktoken",
    ".jinja",
    ".txt",
    ".py",
)
WEIGHTS = (".safetensors", ".bin", ".pt", ".gguf")
INDEX = ".index.json"
# A longer header is none: the format's own library refuses it too.
LONGEST_HEADER = 100_000_000
# Other hosts may have the same one; what is left out, like 9p, has a name that says nothing of whose it is.
_NETWORK = (
    *("nfs", "nfs4", "cifs", "smb3", "lustre", "gpfs", "beegfs", "ceph", "wekafs", "afs"),
    *("fuse.ceph", "fuse.glusterfs", "fuse.sshfs", "fuse.juicefs", "ocfs2", "gfs2"),
)


def is_read(name: str) -> bool:
    """Return whether a file of a model's folder matters to those who load it."""
    return name.endswith(READ) and not name.startswith(".")


def shards(index: str) -> list[str]:
    """Return the files that an index names, in order; raise ValueError where it is none."""
    try:
        return sorted(set(json.loads(index)["weight_map"].values()))
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError("it has no weight_map") from error


def safetensors_size(header: bytes) -> int:
    """Return the size in bytes that a safetensors file must have; header: as it stands in the file.

    Raises:
        ValueError: it is no header.
    """
    tensors = json.loads(header)
    try:
        ends = [each["data_offsets"][1] for name, each in tensors.items() if name != "__metadata__"]
        return 8 + len(header) + max(ends, default=0)
    except (TypeError, KeyError, IndexError, AttributeError) as error:
        raise ValueError("it has no data_offsets") from error


def network_mount(mountinfo: str, path: str) -> str | None:
    """Return what a path is on a network file system, the same on every host that mounts it so, else None.

    mountinfo: content of /proc/self/mountinfo; path: without links.
    """
    held: tuple[int, str | None] = (-1, None)
    for line in mountinfo.splitlines():
        before, _unused, after = line.partition(" - ")
        root, point = before.split()[3:5]
        kind, source = after.split()[:2]
        inside = point in ("/", path) or path.startswith(f"{point}/")
        # Of two on the same folder the later one is seen.
        if inside and len(point) >= held[0]:
            rest = path[len(point.rstrip("/")) :]
            place = f"{kind} {source}{root.rstrip('/')}{rest}" if kind in _NETWORK else None
            held = (len(point), place)
    return held[1]


def model_files(own: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Return the sizes of a model's own files by name; a link has that of the file to which it leads."""
    base, files = own.get("base", ""), own.get("files") or {}
    sizes = {}
    for name, entry in files.items():
        if name.startswith(base):
            target = str(entry["hash"]).removeprefix("-> ")
            led = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
            sizes[name[len(base) :]] = {"size": int(files.get(led, entry)["size"])}
    return sizes


def problems(model: str, found: Mapping[str, Mapping[str, Any]], head: str) -> list[str]:
    """Return what keeps the hosts from loading the same model, a sentence each, hosts in order of name.

    found: by name of the host what module weights_info returned as `weights`; hosts without the path are
    left out by their caller. head: its files win where as many hosts have one content as another.
    """
    said: list[str] = []
    for host in sorted(found):
        said += own_problems(model, host, found[host])
    # Of a host without weights that one sentence is enough.
    hosts = sorted(
        filter(lambda host: _weighs(found[host]), found), key=lambda host: (host != head, host)
    )
    names = sorted(
        {
            name
            for host in hosts
            for name in found[host]["files"]
            if "/" not in name and is_read(name)
        }
    )
    for name in names:
        said += _differences(model, name, {host: found[host]["files"].get(name) for host in hosts})
    return said


def _weighs(own: Mapping[str, Any]) -> bool:
    return any(name.endswith(WEIGHTS) for name in own["files"])


def own_problems(model: str, host: str, own: Mapping[str, Any]) -> Iterable[str]:
    """Yield what keeps one host from loading its own files, a sentence each."""
    if own["reason"]:
        yield (
            f"{host}: the weights in {model} cannot be read ({own['reason']}); expected a folder or a file "
            f"that this user may read, correct its permissions on {host}"
        )
        return
    files = own["files"]
    # A snapshot in the hub's cache lies below the folder of its repository.
    base = own.get("base", "")
    if own["folder"] and not {f"{base}config.json", f"{base}params.json"} & set(files):
        yield (
            f"{host}: {model} has no config.json, expected the folder of a model; correct "
            f"vllm_server_model or copy the model to {host}"
        )
    if not _weighs(own):
        yield (
            f"{host}: {model} has no weights, expected files that end in {', '.join(WEIGHTS)}; copy the "
            f"model to {host}"
        )
    for name, missing in sorted(own["missing"].items()):
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        yield (
            f"{host}: {model} is not whole: {name} names {', '.join(missing[:3])}{more}, got no such file; "
            f"copy the model to {host} again"
        )
    for name, (expected, got) in sorted(own["broken"].items()):
        wanted = f"{expected:,} bytes" if expected is not None else "a safetensors header"
        yield (
            f"{host}: {model}/{name} is damaged: expected {wanted} by its header, got {got:,} bytes; copy it "
            f"to {host} again"
        )


def _differences(
    model: str, name: str, files: Mapping[str, Mapping[str, Any] | None]
) -> Iterable[str]:
    contents = {
        host: (each["size"], each["hash"]) if each else None for host, each in files.items()
    }
    # Of equally frequent contents Counter names the one that it met first: the head's.
    usual = Counter(contents.values()).most_common(1)[0][0]
    with_usual = {content: host for host, content in reversed(contents.items())}[usual]
    for host, content in sorted(contents.items()):
        if content == usual:
            continue
        yield (
            f"{host}: {model}/{name} differs from that of {with_usual}: expected {_told(usual)}, got "
            f"{_told(content)}; copy the model from {with_usual} to {host}"
        )


def _told(content: tuple[int, str] | None) -> str:
    return f"{content[0]:,} bytes with hash {content[1][:12]}" if content else "no such file"
