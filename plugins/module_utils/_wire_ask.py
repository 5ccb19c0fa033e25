# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Has the hosts that listen open connections to each other, and gathers what they saw."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _wire as wire
from ansible_collections.samewire.vllm.plugins.module_utils import _wire_talk as talk

ASK_SECONDS = 15.0  # more than a host takes to try all others, whatever fails
AT_ONCE = 128  # hosts, so that the usual limit of 1024 open files holds


def ask(
    host: str, listeners: Mapping[str, wire.Listener], keys: Mapping[str, str]
) -> dict[str, wire.Probe]:
    """Have the hosts of the keys try all others, and return what those saw that could be asked.

    The own listener is asked on the host itself, which no firewall hinders, the others over the
    interconnect. The listeners end when all of them are heard, and otherwise wait for who else asks.
    """
    plain = {name: wire.render_listener(each) for name, each in listeners.items()}
    # A host that cannot listen has nobody to ask.
    names = [name for name in keys if listeners[name].problem is None]
    with contextlib.ExitStack() as opened, ThreadPoolExecutor(AT_ONCE) as pool:

        def asked(name: str) -> tuple[socket.socket, wire.Probe] | None:
            # Whom it cannot ask is asked on the host itself, and says there what is wrong.
            with contextlib.suppress(OSError, EOFError, ValueError):
                own = None if name == host else listeners[host].address
                client = opened.enter_context(_reached(own, listeners[name]))
                return client, _answer(client, keys[name], {"host": name, "listeners": plain})
            return None

        answers = {
            name: answer
            for name, answer in zip(names, pool.map(asked, names))
            if answer is not None
        }
        if answers.keys() == listeners.keys():
            for client, _unused in answers.values():
                with contextlib.suppress(OSError):
                    client.sendall(b"heard\n")
        return {name: probe for name, (_unused, probe) in answers.items()}


def _reached(own: str | None, target: wire.Listener) -> socket.socket:
    if own is None:
        return talk.rung(target.nonce)
    # Small packets pass where full ones are lost.
    return talk.connected(own, target.address, target.ports[0].number, wire.MTU_STEPS[0])


def _answer(client: socket.socket, key: str, order: Mapping[str, Any]) -> wire.Probe:
    client.sendall(talk.sealed(key, "probe", order))
    if talk.line(client, talk.REPLY_SECONDS) != "ok":
        raise ValueError("it does not take orders")
    said = talk.line(client, ASK_SECONDS)
    return wire.parse_probe(talk.unsealed(key, "probed", said, client, talk.REPLY_SECONDS))
