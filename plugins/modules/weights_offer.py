#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: offer the weights of a host to the other hosts, for the time of the transfer."""

from __future__ import annotations

DOCUMENTATION = r"""
module: weights_offer
short_description: Offer the weights of a host to the others over the interconnect
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Listens on the interconnect address of the host, on a port of the kernel's choice, returns, and answers
    in the background with rsync's daemon, one process for each connection.
  - Only the given folder or file can be read, only from the given addresses, and only with the password.
  - It ends with O(end), or when nobody was connected for a while.
requirements:
  - rsync on the host.
attributes:
  check_mode:
    description: Offers nothing in check mode.
    support: full
options:
  address:
    description: The interconnect address of this host.
    type: str
  path:
    description: The folder of the model, or its only file.
    type: path
  peers:
    description: Interconnect addresses of the hosts that may read.
    type: list
    elements: str
    default: []
  password:
    description: What M(samewire.vllm.weights_receive) must send.
    type: str
  idle:
    description: Seconds without a connection after which the offer ends by itself.
    type: int
    default: 900
  end:
    description: What an earlier call returned as C(offer); that one is ended, and nothing else is done.
    type: path
"""

EXAMPLES = r"""
- name: Offer the weights
  samewire.vllm.weights_offer:
    address: 192.168.200.12
    path: /models/qwen
    peers: [192.168.200.13]
    password: "{{ password }}"
  register: offer
"""

RETURN = r"""
port:
  description: The port on which it listens.
  returned: always, but with O(end) and in check mode
  type: int
offer:
  description: Folder of the offer; it stands while the offer does.
  returned: always, but with O(end) and in check mode
  type: str
"""

import os
import re
import select
import shutil
import socket
import tempfile
import time

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import _background

_SETTINGS = """\
log file = {folder}/log
use chroot = no
munge symlinks = no
reverse lookup = no
{owner}
[weights]
path = {path}
read only = yes
list = no
include from = {folder}/offered
exclude = *
auth users = samewire
secrets file = {folder}/secrets
hosts allow = {peers}
hosts deny = *
"""
# A daemon that is started by root reads as nobody unless it is told otherwise.
_AS_ROOT = "uid = 0\ngid = 0\n"


def settings(folder: str, path: str, peers: list[str], *, root: bool) -> str:
    """Return the daemon's configuration; folder: that of the offer."""
    return _SETTINGS.format(
        folder=folder,
        owner=_AS_ROOT if root else "",
        path=os.path.dirname(path),
        peers=", ".join(peers),
    )


def offered(path: str) -> str:
    """Return the patterns of what can be read of the folder around the model: it, and nothing else."""
    name = re.sub(r"([][*?\\])", r"\\\1", os.path.basename(path))
    return f"/{name}\n/{name}/**\n"


def _serve(listener: socket.socket, folder: str, idle: float) -> None:
    """Answer each connection with a daemon of its own while the offer's folder stands."""
    daemons: list[_background.Process] = []
    last = time.monotonic()
    while os.path.isdir(folder):
        if select.select([listener], [], [], 1)[0]:
            connection, _unused = listener.accept()
            with connection:
                # rsync's daemon serves one connection where its standard input is a socket.
                daemon = ("rsync", "--daemon", "--no-detach", f"--config={folder}/rsyncd.conf")
                daemons.append(_background.on_connection(daemon, connection))
        daemons = [each for each in daemons if each.poll() is None]
        if daemons:
            last = time.monotonic()
        elif time.monotonic() - last > idle:
            break
    for each in daemons:
        each.terminate()
    shutil.rmtree(folder, ignore_errors=True)


def _offer(
    address: str, path: str, peers: list[str], password: str, idle: float
) -> dict[str, object]:
    listener = _background.listener(address)
    folder = tempfile.mkdtemp(prefix="samewire-weights-offer-")
    for name, text in (
        ("secrets", f"samewire:{password}\n"),
        ("offered", offered(path)),
        ("rsyncd.conf", settings(folder, path, peers, root=os.geteuid() == 0)),
    ):
        file = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT, 0o600)
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(text)
    _background.detached(lambda: _serve(listener, folder, idle))
    return {"port": listener.getsockname()[1], "offer": folder}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "address": {"type": "str"},
            "path": {"type": "path"},
            "peers": {"type": "list", "elements": "str", "default": []},
            "password": {"type": "str", "no_log": True},
            "idle": {"type": "int", "default": 900},
            "end": {"type": "path"},
        },
        required_one_of=[("address", "end")],
        required_together=[("address", "path", "password")],
        supports_check_mode=True,
    )
    given = module.params
    if module.check_mode:
        module.exit_json(changed=False)
    if given["end"]:
        shutil.rmtree(given["end"], ignore_errors=True)
        module.exit_json(changed=False)
    try:
        offer = _offer(
            given["address"],
            os.path.realpath(given["path"]),
            given["peers"],
            given["password"],
            given["idle"],
        )
    except OSError as error:
        module.fail_json(
            msg=f"the weights in {given['path']} cannot be offered on {given['address']}: {error}"
        )
    module.exit_json(changed=False, **offer)


if __name__ == "__main__":
    main()
