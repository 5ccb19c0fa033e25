#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: receive weights that another host offers, and put them in place once they are proven."""

from __future__ import annotations

DOCUMENTATION = r"""
module: weights_receive
short_description: Receive weights over the interconnect, and put them in place once they are proven
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Receives files that M(samewire.vllm.weights_offer) offers, in the background, into a hidden folder beside
    the model, with owner and mode. Only when all have the expected size and hash they take their place.
  - What an interruption leaves in the hidden folder is the beginning of the next call.
  - An action of the same name on the controller repeats the module until all is over.
requirements:
  - rsync on the host.
attributes:
  check_mode:
    description: Says whether anything would be received.
    support: full
options:
  path:
    description: The folder of the model, or its only file, here and on the source.
    type: path
    required: true
  folder:
    description: Whether O(path) is a folder.
    type: bool
    default: true
  files:
    description: What is to be received, size and hash by name, in the order in which it takes its place.
    type: dict
    required: true
  source:
    description: Name of the host that offers.
    type: str
    default: ""
  source_address:
    description: Interconnect address of the source.
    type: str
    default: ""
  port:
    description: Port of the offer.
    type: int
    default: 0
  password:
    description: Password of the offer.
    type: str
    default: ""
  address:
    description: Interconnect address of this host, from which it connects.
    type: str
    default: ""
  hashes:
    description: File that keeps hashes, as of M(samewire.vllm.weights_info).
    type: path
  stall_timeout:
    description: Seconds without progress after which the action gives up.
    type: int
    default: 900
  job:
    description: What the first call returned; the module then looks how far it is.
    type: path
  seconds:
    description: How long the module waits for the end before it says how far it is.
    type: float
    default: 5
"""

EXAMPLES = r"""
- name: Receive the weights
  samewire.vllm.weights_receive:
    path: /models/qwen
    files: {config.json: {size: 812, hash: 5f2c…}}
    source: spark0
    source_address: 192.168.200.12
    port: "{{ offer.port }}"
    password: "{{ password }}"
    address: 192.168.200.13
"""

RETURN = r"""
job:
  description: Folder of the job.
  returned: by the first call
  type: str
progress:
  description: How far it is, as C(receiving weights, 1.2 of 4.9 GB).
  returned: by a later call
  type: str
over:
  description: Whether all files are in their places.
  returned: by a later call
  type: bool
problem:
  description: Why it ended, empty while it goes on.
  returned: by a later call
  type: str
"""

import fcntl
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import (
    _background,
    _environment,
    _weights_hashes,
    _weights_plan,
)

_USER = "samewire"


class _Broken(Exception):
    """What ended the transfer; the message is a sentence without the name of the host."""


def staging(path: str) -> str:
    """Return the hidden folder beside a model that holds what has arrived so far."""
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.samewire")


def _arrival(given: dict[str, Any]) -> str:
    """Return the folder in which the files arrive."""
    stage = staging(given["path"])
    return os.path.join(stage, os.path.basename(given["path"])) if given["folder"] else stage


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return 0


def _arrived(given: dict[str, Any]) -> int:
    """Return how many bytes of the files have arrived."""
    folder = _arrival(given)
    return sum(
        min(_size(os.path.join(folder, name)), entry["size"])
        for name, entry in given["files"].items()
    )


def _total(given: dict[str, Any]) -> int:
    return sum(entry["size"] for entry in given["files"].values())


def rsync(given: dict[str, Any]) -> list[str]:
    """Return the command that receives; the names of the files go to its standard input."""
    source = _environment.bracketed(given["source_address"])
    return [
        "rsync",
        "--archive",
        # The hidden folder is no place to read from, so what has arrived needs no second copy.
        "--inplace",
        "--from0",
        "--files-from=-",
        f"--address={given['address']}",
        "--contimeout=30",
        "--timeout=120",
        f"rsync://{_USER}@{source}:{given['port']}/weights/",
        f"{staging(given['path'])}/",
    ]


def _receive(given: dict[str, Any], lock: int) -> None:
    # Named from the folder around the model, so that the model's own keeps its owner and mode.
    base = f"{os.path.basename(given['path'])}/" if given["folder"] else ""
    done = subprocess.run(
        rsync(given),
        input="".join(f"{base}{name}\0" for name in given["files"]),
        check=False,
        capture_output=True,
        text=True,
        # Nobody else may write there while rsync does.
        pass_fds=[lock],
        env={**os.environ, "RSYNC_PASSWORD": given["password"]},
    )
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"rsync ended with {done.returncode}"])[0]
        raise _Broken(
            f"receiving {given['path']} from {given['source']} at {given['source_address']} broke off "
            f"after {_weights_plan.amount(_arrived(given))} of {_weights_plan.amount(_total(given))} "
            f"({said}); what has arrived is kept, run again"
        )


def _content(path: str) -> dict[str, Any]:
    """Return size and hash, as weights_info gives them."""
    if os.path.islink(path):
        return {"size": 0, "hash": f"-> {os.readlink(path)}"}
    with open(path, "rb") as file:
        digest = _weights_hashes.sha256(file)
    return {"size": os.path.getsize(path), "hash": digest}


def _verify(given: dict[str, Any]) -> None:
    folder = _arrival(given)
    with ThreadPoolExecutor(4) as pool:
        contents = pool.map(lambda name: _content(os.path.join(folder, name)), given["files"])
        for name, content in zip(given["files"], contents):
            expected = given["files"][name]
            if content != expected:
                os.unlink(os.path.join(folder, name))
                raise _Broken(
                    f"{name} of {given['path']} did not arrive as {given['source']} has it: expected "
                    f"{expected['size']:,} bytes with hash {expected['hash'][:12]}, got "
                    f"{content['size']:,} bytes with hash {content['hash'][:12]}; run again"
                )


def _tidy(given: dict[str, Any]) -> None:
    """Remove from the hidden folder what belongs to another state of the model."""
    folder = _arrival(given)
    for parent, _unused, names in os.walk(staging(given["path"])):
        for name in names:
            full = os.path.join(parent, name)
            if os.path.relpath(full, folder) not in given["files"]:
                os.unlink(full)


def _place(given: dict[str, Any]) -> None:
    folder, path = _arrival(given), given["path"]
    if given["folder"] and not os.path.exists(path):
        os.rename(folder, path)
    else:
        root = path if given["folder"] else os.path.dirname(path)
        for name in given["files"]:
            target = os.path.join(root, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.replace(os.path.join(folder, name), target)
    shutil.rmtree(staging(path))


def _remember(given: dict[str, Any]) -> None:
    """Keep the hashes, so that nobody computes them again."""
    if not given["hashes"]:
        return
    try:
        with open(given["hashes"], encoding="utf-8") as file:
            known = _weights_hashes.Hashes(file.read())
    except FileNotFoundError:
        known = _weights_hashes.Hashes()
    root = given["path"] if given["folder"] else os.path.dirname(given["path"])
    for name, entry in given["files"].items():
        full = os.path.join(root, name)
        if not os.path.islink(full):
            known.keep(full, os.stat(full), entry["hash"])
    os.makedirs(os.path.dirname(given["hashes"]), mode=0o700, exist_ok=True)
    temporary = f"{given['hashes']}.new"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(known.text())
    os.replace(temporary, given["hashes"])


def work(given: dict[str, Any]) -> str:
    """Receive, verify and place; return what went wrong, empty where nothing did."""
    stage = staging(given["path"])
    try:
        os.makedirs(stage, exist_ok=True)
        lock = os.open(stage, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return f"another run receives {given['path']}; wait for it, and run again"
        _tidy(given)
        _receive(given, lock)
        _verify(given)
        _place(given)
        _remember(given)
    except _Broken as broken:
        return str(broken)
    except OSError as error:
        return f"{given['path']} cannot be written ({error}); what has arrived is kept, run again"
    return ""


def look(given: dict[str, Any]) -> dict[str, Any]:
    """Wait a while, and return how far the job is; one that is over leaves nothing behind."""
    seen = _background.watch(
        given["job"],
        given["seconds"],
        lost=f"receiving {given['path']} ended without a word; what has arrived is kept, run again",
    )
    return {**seen, "progress": "" if seen["problem"] else _progress(given, over=seen["over"])}


def _progress(given: dict[str, Any], *, over: bool) -> str:
    total = _total(given)
    if over:
        return f"received and verified {_weights_plan.amount(total)} of weights"
    done = _arrived(given)
    verb = "verifying" if done == total else "receiving"
    return f"{verb} weights, {_weights_plan.amount(done)} of {_weights_plan.amount(total)}"


SPEC: dict[str, Any] = {
    "argument_spec": {
        "path": {"type": "path", "required": True},
        "folder": {"type": "bool", "default": True},
        "files": {"type": "dict", "required": True},
        "source": {"type": "str", "default": ""},
        "source_address": {"type": "str", "default": ""},
        "port": {"type": "int", "default": 0},
        "password": {"type": "str", "default": "", "no_log": True},
        "address": {"type": "str", "default": ""},
        "hashes": {"type": "path"},
        "stall_timeout": {"type": "int", "default": 900},
        "job": {"type": "path"},
        "seconds": {"type": "float", "default": 5.0},
    },
    "supports_check_mode": True,
}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(**SPEC)
    given = {**module.params, "path": os.path.realpath(module.params["path"])}
    if module.check_mode:
        module.exit_json(changed=bool(given["files"]))
    if not given["job"]:
        module.exit_json(changed=True, job=_background.begin(lambda _say: work(given)))
    module.exit_json(changed=True, **look(given))


if __name__ == "__main__":
    main()
