# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: take or release the right to change a cluster, which one run has at a time."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_lock
short_description: Take or release the right to change a cluster
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Keeps who may change a cluster in a file on this host, for a limited time. Whoever takes it again before
    that renews it.
  - An action of the same name on the controller says who asks, and looks whether a holder on the same
    controller is still alive; a dead one is no obstacle.
attributes:
  check_mode:
    description: Says whether the lock could be taken, and takes nothing.
    support: full
options:
  cluster:
    description: Name of the cluster.
    type: str
    required: true
  directory:
    description: Directory on the host that holds the files of all clusters; it is made where there is none.
    type: path
    required: true
  state:
    description: Whether to take the lock, or to release it where this run holds it.
    type: str
    choices: [held, released]
    default: held
  seconds:
    description: How long the lock lasts without being taken again.
    type: float
    default: 900
  take_over:
    description: Takes the lock whoever holds it.
    type: bool
    default: false
  holder:
    description: Who asks, C(user), C(controller), C(pid), C(started), C(space); given by the action.
    type: dict
    required: true
  dead:
    description: A holder that is known to be gone; given by the action.
    type: dict
"""

EXAMPLES = r"""
- name: Ask for the right to change the cluster
  samewire.vllm.cluster_lock:
    cluster: spark-pair
    directory: ~/.samewire
  register: asked

- name: Refuse while another run changes it
  ansible.builtin.assert:
    that: not asked.problem
    fail_msg: "{{ asked.problem }}"
"""

RETURN = r"""
lease:
  description: The lease that another run holds, empty where none does.
  returned: always
  type: dict
problem:
  description: Why the lock is not to be had, empty where this run has it; from the action.
  returned: always
  type: str
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import _lock


@contextmanager
def _alone(path: str) -> Iterator[int]:
    """Yield the open file to one process at a time."""
    while True:
        with suppress(FileExistsError):
            os.makedirs(os.path.dirname(path), mode=0o700)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except FileNotFoundError:
            continue  # a release has just removed the directory
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_at(descriptor, path):
                yield descriptor
                return
        finally:
            os.close(descriptor)


def _is_at(descriptor: int, path: str) -> bool:
    """Whether a path still leads to an open file, which a release may have removed in the meantime."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _read(descriptor: int) -> _lock.Lease | None:
    return _lock.parse(os.pread(descriptor, 65536, 0).decode("utf-8", "replace"))


def take(
    path: str, me: _lock.Holder, seconds: float, dead: _lock.Holder | None, take_over: bool
) -> _lock.Lease | None:
    """Take the lock; return the lease of another run where that holds it."""
    with _alone(path) as descriptor:
        held, now = _read(descriptor), time.time()
        if not (take_over or _lock.is_free(held, me, now, dead)):
            return held
        text = _lock.taken(held, me, now, seconds).render().encode()
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text, 0)
        os.fsync(descriptor)
    return None


def release(path: str, me: _lock.Holder) -> bool:
    """Release the lock; return whether I had it."""
    if not os.path.exists(path):
        return False
    with _alone(path) as descriptor:
        held = _read(descriptor)
        if held is not None and held.holder != me:
            return False
        os.unlink(path)
        _remove_empty(os.path.dirname(path))
    return held is not None


def _remove_empty(directory: str) -> None:
    # It holds the files of the clusters, where there are any.
    with suppress(OSError):
        os.rmdir(directory)


def look(path: str) -> _lock.Lease | None:
    """Return the lease that somebody holds."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return _lock.parse(file.read())
    except FileNotFoundError:
        return None


SPEC: dict[str, Any] = {
    "argument_spec": {
        "cluster": {"type": "str", "required": True},
        "directory": {"type": "path", "required": True},
        "state": {"type": "str", "choices": ["held", "released"], "default": "held"},
        "seconds": {"type": "float", "default": 900.0},
        "take_over": {"type": "bool", "default": False},
        "holder": {"type": "dict", "required": True},
        "dead": {"type": "dict"},
    },
    "supports_check_mode": True,
}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(**SPEC)
    asked: dict[str, Any] = module.params
    path = os.path.join(os.path.abspath(asked["directory"]), f"{asked['cluster']}.lock")
    me = _lock.Holder.parse(asked["holder"])
    dead = _lock.Holder.parse(asked["dead"]) if asked["dead"] else None
    changed, other = True, None
    try:
        if module.check_mode:
            other = look(path)
            free = asked["take_over"] or _lock.is_free(other, me, time.time(), dead)
            other = None if free or asked["state"] == "released" else other
        elif asked["state"] == "released":
            changed = release(path, me)
        else:
            other = take(path, me, asked["seconds"], dead, asked["take_over"])
    except OSError as error:
        module.fail_json(msg=f"{path}: the lock of the cluster cannot be kept: {error}")
    module.exit_json(
        changed=changed and other is None and not module.check_mode,
        lease=asdict(other) if other else {},
        problem="",
    )


if __name__ == "__main__":
    main()
