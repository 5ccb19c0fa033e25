#!/usr/bin/python
# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt)
"""Module: receive an image that another host offers, and load it into Docker as it arrives."""

from __future__ import annotations

DOCUMENTATION = r"""
module: image_receive
short_description: Receive an image over the interconnect, and load it into Docker as it arrives
version_added: 0.1.0
author: The Samewire authors (@samewire)
description:
  - Receives an image that M(samewire.vllm.image_offer) offers, in the background, and hands it to
    C(docker load) without a copy on disk of its own. Layers that the host has in other images are not
    received, where Docker keeps images with a graph driver.
  - The image counts when it is the same as that of the source. One that did not arrive whole leaves nothing.
  - An action of the same name on the controller repeats the module until all is over.
attributes:
  check_mode:
    description: Judges whether the image could be received, and says that it would be.
    support: full
options:
  name:
    description: Reference of the image, here and on the source.
    type: str
    required: true
  expected:
    description: The image of the source, as C(docker image inspect) prints it; empty where it has none yet.
    type: dict
    required: true
  sizes:
    description: Bytes of each layer, as M(samewire.vllm.image_offer) returned them.
    type: list
    elements: int
    default: []
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
  token:
    description: Token of the offer.
    type: str
    default: ""
  address:
    description: Interconnect address of this host, from which it connects.
    type: str
    default: ""
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
- name: Receive the image
  samewire.vllm.image_receive:
    name: vllm/vllm-openai:v0.17.1
    expected: "{{ image }}"
    source: spark0
    source_address: 192.168.200.12
    port: "{{ offer.port }}"
    token: "{{ token }}"
    address: 192.168.200.13
"""

RETURN = r"""
image:
  description: The image, as C(docker image inspect) prints it.
  returned: where it is over
  type: dict
over:
  description: Whether the image is there.
  returned: but by a call that begins
  type: bool
progress:
  description: How far it is, as C(receiving the image, 1234/4100 MB at 95 MB/s).
  returned: while it goes on
  type: str
problem:
  description: Why it ended, empty while it goes on.
  returned: but by a call that begins
  type: str
"""

import json
import secrets
import socket
import time
from collections.abc import Iterator
from typing import Any, BinaryIO, Callable

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.samewire.vllm.plugins.module_utils import (
    _background,
    _engine,
    _image,
    _image_events,
    _image_stream,
    _image_transfer,
    _weights_plan,
)

_CONNECT_SECONDS = 30.0
# The source gives a sign of life every few seconds.
_SILENT_SECONDS = 60.0
_SAID_EVERY = 0.5


class _Broken(Exception):
    """What ended the transfer; the message is a sentence without the name of the host."""


def held(engine: _engine.Engine, layers: list[str], store: _engine.Storage) -> int:
    """Return how many layers of the image this host has and need not receive."""
    # For the store of containerd a layer is what a registry packed, which docker save may not hold.
    if store.containerd:
        return 0
    found = (engine.image(each) or {} for each in engine.images())
    return _image_transfer.held(
        layers, [(image.get("RootFS") or {}).get("Layers") or [] for image in found]
    )


class _Transfer:
    """One image on its way to this host."""

    def __init__(self, given: dict[str, Any], count: int, total: int | None) -> None:
        """count: how many layers are here; total: bytes to come, None where they are not known."""
        self._given = given
        self._count = count
        self._total = total
        self._done = 0

    def run(self, engine: _engine.Engine, say: Callable[[str], None]) -> str:
        """Receive and load; return what went wrong, empty where nothing did."""
        name, source = self._given["name"], self._given["source"]
        expected = self._given["expected"]
        progress, said = _image_events.Progress(), 0.0
        try:
            with self._opened() as stream:
                say(f"waiting for the image from {source}")
                for event in engine.load(self._pieces(stream, say)):
                    progress.add(event)
                    if time.monotonic() - said > _SAID_EVERY:
                        said = time.monotonic()
                        say(f"unpacking the image, {progress.text()}".rstrip(", "))
            image = engine.image(name) or {"Id": "none"}
        except _Broken as broken:
            return str(broken)
        except (_engine.EngineUnavailable, _engine.EngineRefused) as error:
            return (
                f"image {name} from {source} could not be loaded after {self._amount()} ({error}); Docker "
                "has kept nothing of it, cure what it says and run again"
            )
        if not _image.same(image, expected):
            return (
                f"image {name} did not arrive as {source} has it: expected {expected['Id']}, got "
                f"{image['Id']}; run again"
            )
        say(f"received the image, {self._amount()}")
        return ""

    def _amount(self) -> str:
        return _weights_plan.amount(self._done)

    def _opened(self) -> BinaryIO:
        """Return the connection as a file, once each side has shown the other that it knows the token."""
        given, own = self._given, secrets.token_hex(16)
        try:
            with socket.create_connection(
                (given["source_address"], given["port"]), _CONNECT_SECONDS, (given["address"], 0)
            ) as connection:
                connection.settimeout(_SILENT_SECONDS)
                stream = connection.makefile("rb", buffering=1 << 20)
                theirs = stream.readline(64).decode().strip()
                seal = _image_stream.seal(given["token"], "receive", theirs, own, self._count)
                said = {"nonce": own, "held": self._count, "seal": seal}
                connection.sendall(json.dumps(said).encode() + b"\n")
                answer = stream.readline(128).decode().strip()
            _image_stream.prove(given["token"], answer, "send", theirs, own)
        except (OSError, ValueError) as error:
            raise _Broken(
                f"{given['source']} at {given['source_address']} port {given['port']} does not offer image "
                f"{given['name']} ({error}); run again"
            ) from error
        return stream

    def _pieces(self, stream: BinaryIO, say: Callable[[str], None]) -> Iterator[bytes]:
        begun = said = time.monotonic()
        try:
            for payload in _image_stream.payloads(stream.read):
                if not payload:
                    continue
                # How much a compressed image will be is not known.
                if not self._done and _image_stream.is_packed(payload):
                    self._total = None
                self._done += len(payload)
                yield payload
                now = time.monotonic()
                if now - said > _SAID_EVERY:
                    said = now
                    far = _image_events.sent(self._done, self._total, now - begun)
                    say(f"receiving the image, {far}")
        except (OSError, EOFError) as error:
            raise _Broken(
                f"receiving image {self._given['name']} from {self._given['source']} at "
                f"{self._given['source_address']} broke off after {self._amount()} ({error}); Docker keeps "
                "nothing of an image that did not arrive whole, run again"
            ) from error


def _prepared(engine: _engine.Engine, given: dict[str, Any]) -> tuple[int, int]:
    """Return how many layers are here, and the bytes of the others."""
    expected, store = given["expected"], engine.storage()
    count = held(engine, list(expected["RootFS"]["Layers"]), store)
    lacking = _image_transfer.lacking(expected["Size"], given["sizes"], count)
    problem = _image_transfer.processor_problem(
        given["name"], expected["Architecture"], store.processor
    ) or _image_transfer.room_problem(
        given["name"], store.root, lacking, store.free, receiving=True
    )
    if problem:
        raise _Broken(problem)
    return count, lacking


SPEC: dict[str, Any] = {
    "argument_spec": {
        "name": {"type": "str", "required": True},
        "expected": {"type": "dict", "required": True},
        "sizes": {"type": "list", "elements": "int", "default": []},
        "source": {"type": "str", "default": ""},
        "source_address": {"type": "str", "default": ""},
        "port": {"type": "int", "default": 0},
        "token": {"type": "str", "default": "", "no_log": True},
        "address": {"type": "str", "default": ""},
        "stall_timeout": {"type": "int", "default": 900},
        "job": {"type": "path"},
        "seconds": {"type": "float", "default": 5.0},
    },
    "supports_check_mode": True,
}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(**SPEC)
    given = module.params
    # The engine says nothing while it unpacks a large layer.
    engine, patient = _engine.Engine(), _engine.Engine(timeout=given["stall_timeout"])
    try:
        if given["job"]:
            seen = _background.watch(given["job"], given["seconds"])
            if seen["over"]:
                seen["image"] = engine.image(given["name"]) or {}
            module.exit_json(changed=True, **seen)
        if not given["expected"]:
            module.exit_json(changed=True, over=True, problem="", image={})
        count, lacking = _prepared(engine, given)
    except _Broken as broken:
        module.exit_json(changed=False, over=False, problem=str(broken))
    except (_engine.EngineUnavailable, _engine.EngineRefused) as error:
        module.exit_json(changed=False, over=False, problem=f"Docker does not answer ({error})")
    if module.check_mode:
        module.exit_json(changed=True, over=True, problem="", image={})
    # Of some layers alone it is not known without the sizes how much is to come.
    transfer = _Transfer(given, count, lacking if given["sizes"] or not count else None)
    module.exit_json(changed=True, job=_background.begin(lambda say: transfer.run(patient, say)))


if __name__ == "__main__":
    main()
