# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Runs in a container of the image: a server without Ray, whose parts on all hosts begin and end together.

    ranks.py lead --listen ADDRESS:PORT [--expect ADDRESS,...] -- PROGRAM ARGUMENT...
    ranks.py follow --head ADDRESS:PORT --own ADDRESS -- PROGRAM ARGUMENT...

Each host holds a connection to the head while its container runs. PROGRAM begins when all have one, and ends
when one is lost, so that the restart policies bring all parts back. Seen with vLLM 0.32: a part whose peer on
another host is gone waits for it for ever, and one that comes back alone is not let in.
"""

from __future__ import annotations

import argparse
import select
import socket
import sys
import time

import supervise
from bounded_starts import restrain

_GO = b"+"
# A cable that is out for so many seconds ends the server; one that is in again before does not.
_IDLE, _INTERVAL, _PROBES = 20, 10, 4
_PAUSE = 1


def say(text):
    """Print a line at once."""
    print(f"samewire: {text}", flush=True)


class Once:
    """Says what is new, and not what it has said last."""

    def __init__(self):
        self._last = None

    def say(self, text):
        """Print a line, unless it was the last one."""
        if text != self._last:
            self._last = text
            say(text)


def parse_end(text):
    """Return address and port of ADDRESS:PORT, where IPv6 stands in brackets."""
    address, _unused, port = text.rpartition(":")
    return address.strip("[]"), int(port)


def kept_alive(connection):
    """Return a connection that notices when the other end is silently gone."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _IDLE)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _INTERVAL)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _PROBES)
    return connection


def listening(end):
    """Return a listening socket, as soon as the host has the address."""
    once = Once()
    while True:
        try:
            family = socket.AF_INET6 if ":" in end[0] else socket.AF_INET
            return socket.create_server(end, family=family)
        except OSError as error:
            once.say(f"cannot listen on {end[0]} port {end[1]}: {error}")
            time.sleep(_PAUSE)


def accepted(listener, expected, strangers):
    """Return address and connection of a planned host, None for a stranger; strangers: says who they are."""
    connection, (address, *_unused) = listener.accept()
    if address in expected:
        return address, kept_alive(connection)
    connection.close()
    strangers.say(f"{address} is not in the plan and was turned away")
    return None


def gathered(listener, expected):
    """Return the connections of the expected hosts, by address, as soon as all have one."""
    once, strangers = Once(), Once()
    joined = {}
    while missing := sorted(expected - joined.keys()):
        clauses = "; ".join(f"{address} has not joined" for address in missing)
        once.say(f"waiting for the planned nodes: {clauses}")
        readable = select.select([listener, *joined.values()], [], [])[0]
        for address, connection in list(joined.items()):
            # Who waits says nothing, so there is only its end to be read.
            if connection in readable:
                joined.pop(address).close()
        if listener in readable and (found := accepted(listener, expected, strangers)):
            address, connection = found
            if address in joined:
                joined[address].close()
            joined[address] = connection
    for connection in joined.values():
        connection.sendall(_GO)
    return joined


def lost_by_head(listener, joined):
    """Return why all must begin anew, as soon as a host is lost."""
    strangers = Once()
    while True:
        readable = select.select([listener, *joined.values()], [], [])[0]
        for address, connection in joined.items():
            if connection in readable:
                return f"lost {address}"
        found = accepted(listener, joined, strangers)
        if found:
            # It has begun anew before the end of its former connection was noticed.
            return f"{found[0]} has begun anew"


def joined_head(head, own):
    """Return the connection to the head, as soon as all hosts have one."""
    once = Once()
    while True:
        once.say(
            f"waiting for the planned nodes: the head at {head[0]} has not said that all are there"
        )
        try:
            connection = kept_alive(socket.create_connection(head, 10, source_address=(own, 0)))
            connection.settimeout(None)
            if connection.recv(len(_GO)) == _GO:
                return connection
            connection.close()
        except OSError:
            # The head is not up yet, or is down again; its own log says why.
            pass
        time.sleep(_PAUSE)


def lost_by_follower(connection, head):
    """Return why this host must begin anew, as soon as the head is lost."""
    select.select([connection], [], [])
    return f"lost the head at {head[0]}"


def main():
    """Run one of the two commands."""
    split = sys.argv.index("--")
    parser = argparse.ArgumentParser(prog="ranks.py")
    commands = parser.add_subparsers(dest="command", required=True)
    lead = commands.add_parser("lead")
    lead.add_argument("--listen", type=parse_end, required=True)
    lead.add_argument("--expect", type=lambda text: set(text.split(",")), default=set())
    follow = commands.add_parser("follow")
    follow.add_argument("--head", type=parse_end, required=True)
    follow.add_argument("--own", required=True)
    options = parser.parse_args(sys.argv[1:split])
    restrain()
    if options.command == "lead":
        listener = listening(options.listen)
        joined = gathered(listener, options.expect)

        def lost():
            return lost_by_head(listener, joined)
    else:
        connection = joined_head(options.head, options.own)

        def lost():
            return lost_by_follower(connection, options.head)

    say("all planned nodes are there")
    sys.exit(supervise.run(sys.argv[split + 1 :], lost))


if __name__ == "__main__":
    main()
