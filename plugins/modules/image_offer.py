#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: offer an image of a host to the other hosts, for the time of the transfer."""

from __future__ import annotations

DOCUMENTATION = r"""
module: image_offer
short_description: Offer an image of the host to others over the interconnect
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Listens on the interconnect address of the host, on a port of the kernel's choice, returns, and sends
    the image in the background as C(docker save) gives it, without a copy on disk of its own.
  - One C(docker save) feeds all hosts that wait, each without the layers that it has. What is kept in memory
    is bounded, so the slowest host sets the pace of those that receive at once.
  - Only hosts of the given addresses that know the token receive anything.
  - It ends with O(end), or when nobody was connected for a while.
attributes:
  check_mode:
    description: Offers nothing in check mode.
    support: full
options:
  address:
    description: The interconnect address of this host.
    type: str
  name:
    description: Reference of the image.
    type: str
  peers:
    description: Interconnect addresses of the hosts that will receive.
    type: list
    elements: str
    default: []
  parallel:
    description: How many hosts receive at once at most.
    type: int
    default: 8
  token:
    description: What M(samewire.vllm.image_receive) must know.
    type: str
  compress:
    description: Whether to send it compressed.
    type: bool
    default: false
  idle:
    description: Seconds without a connection after which the offer ends by itself.
    type: int
    default: 900
  end:
    description: What an earlier call returned as C(offer); that one is ended, and nothing else is done.
    type: path
"""

EXAMPLES = r"""
- name: Offer the image
  samewire.vllm.image_offer:
    address: 192.168.200.12
    name: vllm/vllm-openai:v0.17.1
    peers: [192.168.200.13]
    token: "{{ token }}"
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
sizes:
  description: Bytes of each layer, the lowest first; nothing where Docker does not tell them.
  returned: always, but with O(end) and in check mode
  type: list
  elements: int
"""

import contextlib
import json
import os
import queue
import secrets
import shutil
import socket
import tempfile
import threading
import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import (
    _background,
    _engine,
    _image_stream,
    _image_transfer,
)

# Pieces that wait for one host; they are shared among hosts.
_WAITING = 16
# Who has not come in this time after the last one receives with the next `docker save`.
_GRACE = 5.0
_HANDSHAKE_SECONDS = 10.0
# Docker unpacks while it reads, and may be slow.
_SEND_SECONDS = 600.0
_SIGN_OF_LIFE = 5.0
# Docker gathers the whole image before it gives the first byte.
_SAVE_SECONDS = 3600.0


class _Refused(Exception):
    """Why nothing can be offered; the message is a sentence without the name of the host."""


class _Receiver:
    """One host that receives; what it is given waits in a bounded queue."""

    def __init__(self, connection: socket.socket, held: int) -> None:
        """connection: ready to take frames; held: how many layers the host has."""
        self.held = held
        self.broken = False
        self._connection = connection
        self._queue: queue.Queue[bytes | None] = queue.Queue(_WAITING)
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def give(self, frame: bytes) -> None:
        """Let it be sent; waits while too much does."""
        self._queue.put(frame)

    def end(self) -> None:
        """Send what waits, and hang up."""
        self._queue.put(None)
        self._thread.join()
        self._connection.close()

    def _send(self) -> None:
        self._connection.settimeout(_SEND_SECONDS)
        while True:
            try:
                frame = self._queue.get(timeout=_SIGN_OF_LIFE)
            except queue.Empty:
                frame = _image_stream.frame(_image_stream.WAIT)
            if frame is None:
                return
            # What comes after a break is taken, so that nobody waits, and dropped.
            if not self.broken:
                try:
                    self._connection.sendall(frame)
                except OSError:
                    self.broken = True


class _Group:
    """Hosts that have the same layers, and so are sent the same."""

    def __init__(self, receivers: list[_Receiver], layers: list[str], *, compress: bool) -> None:
        self.receivers = receivers
        self.spared = _image_transfer.spared(layers, receivers[0].held)
        self._packer = _image_stream.Packer(compress)

    def give(self, data: bytes) -> None:
        self._send(_image_stream.DATA, self._packer.pack(data))

    def end(self) -> None:
        self._send(_image_stream.DATA, self._packer.end())
        self._send(_image_stream.END, b"")

    def fail(self, reason: str) -> None:
        self._send(_image_stream.FAILED, reason.encode())

    def _send(self, kind: bytes, payload: bytes) -> None:
        if kind == _image_stream.DATA and not payload:
            return
        frame = _image_stream.frame(kind, payload)
        for receiver in self.receivers:
            receiver.give(frame)


def send(name: str, layers: list[str], receivers: list[_Receiver], *, compress: bool) -> None:
    """Send the image to some hosts, with one `docker save`."""
    groups = [
        _Group([each for each in receivers if each.held == held], layers, compress=compress)
        for held in sorted({each.held for each in receivers})
    ]
    try:
        with _engine.Engine(timeout=_SAVE_SECONDS).saved(name) as saved:
            for layer, piece in _image_stream.pieces(saved, layers):
                for group in groups:
                    if layer not in group.spared:
                        group.give(piece)
                if all(receiver.broken for receiver in receivers):
                    break
        for group in groups:
            group.end()
    except Exception as error:  # noqa: BLE001
        # Whatever it is, those who wait are told.
        for group in groups:
            group.fail(str(error) or type(error).__name__)
    finally:
        for receiver in receivers:
            receiver.end()


class _Door:
    """Lets those in who know the token."""

    def __init__(self, listener: socket.socket, peers: list[str], token: str) -> None:
        self.arrived: queue.Queue[_Receiver] = queue.Queue()
        self._listener = listener
        self._peers = frozenset(peers)
        self._token = token

    def open(self) -> None:
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            connection, address = self._listener.accept()
            if address[0] not in self._peers:
                connection.close()
                continue
            threading.Thread(target=self._let_in, args=[connection], daemon=True).start()

    def _let_in(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(_HANDSHAKE_SECONDS)
            nonce = secrets.token_hex(16)
            connection.sendall(f"{nonce}\n".encode())
            with connection.makefile("rb") as lines:
                said = json.loads(lines.readline(4096))
            told = "receive", nonce, said["nonce"], said["held"]
            _image_stream.prove(self._token, str(said["seal"]), *told)
            answer = _image_stream.seal(self._token, "send", nonce, said["nonce"])
            connection.sendall(f"{answer}\n".encode())
            self.arrived.put(_Receiver(connection, int(said["held"])))
        except (OSError, ValueError, KeyError, TypeError):
            connection.close()


def _serve(door: _Door, folder: str, given: dict[str, Any], layers: list[str]) -> None:
    """Send to those who wait, as many at once as may be, while the offer's folder stands."""
    door.open()
    waiting: list[_Receiver] = []
    outstanding, last = len(given["peers"]), time.monotonic()
    while os.path.isdir(folder):
        with contextlib.suppress(queue.Empty):
            waiting.append(door.arrived.get(timeout=0.5))
            last = time.monotonic()
        full = len(waiting) >= max(1, min(given["parallel"], outstanding))
        if waiting and (full or time.monotonic() - last > _GRACE):
            now, waiting = waiting[: given["parallel"]], waiting[given["parallel"] :]
            send(given["name"], layers, now, compress=given["compress"])
            outstanding -= len(now)
            last = time.monotonic()
        elif not waiting and time.monotonic() - last > given["idle"]:
            break
    shutil.rmtree(folder, ignore_errors=True)


def _offer(given: dict[str, Any]) -> dict[str, Any]:
    engine = _engine.Engine()
    image = engine.image(given["name"])
    if image is None:
        raise _Refused(f"there is no image {given['name']} on this host, expected it, to be sent")
    store = engine.storage()
    # Only a graph driver makes docker save write a file first.
    if not store.containerd and (
        problem := _image_transfer.room_problem(
            given["name"], store.root, image["Size"], store.free, receiving=False
        )
    ):
        raise _Refused(problem)
    listener = _background.listener(given["address"])
    folder = tempfile.mkdtemp(prefix="samewire-image-offer-")
    layers = list(image["RootFS"]["Layers"])
    door = _Door(listener, given["peers"], given["token"])
    _background.detached(lambda: _serve(door, folder, given, layers))
    return {
        "port": listener.getsockname()[1],
        "offer": folder,
        "sizes": _image_transfer.sizes(layers, engine.history(given["name"])),
    }


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "address": {"type": "str"},
            "name": {"type": "str"},
            "peers": {"type": "list", "elements": "str", "default": []},
            "parallel": {"type": "int", "default": 8},
            "token": {"type": "str", "no_log": True},
            "compress": {"type": "bool", "default": False},
            "idle": {"type": "int", "default": 900},
            "end": {"type": "path"},
        },
        required_one_of=[("address", "end")],
        required_together=[("address", "name", "token")],
        supports_check_mode=True,
    )
    given = module.params
    if module.check_mode:
        module.exit_json(changed=False)
    if given["end"]:
        shutil.rmtree(given["end"], ignore_errors=True)
        module.exit_json(changed=False)
    try:
        module.exit_json(changed=False, **_offer(given))
    except _Refused as refused:
        module.fail_json(msg=str(refused))
    except (OSError, _engine.EngineUnavailable, _engine.EngineRefused) as error:
        module.fail_json(
            msg=f"image {given['name']} cannot be offered on {given['address']}: {error}"
        )


if __name__ == "__main__":
    main()
