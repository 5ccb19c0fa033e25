# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Runs in a container of the image: which nodes has Ray, and are they the planned ones?

    cluster_nodes.py list
    cluster_nodes.py wait --expect ADDRESS=GPUS,... --timeout SECONDS [-- PROGRAM ARGUMENT...]

`list` prints one JSON object. `wait` ends as soon as the nodes that are alive are exactly the
expected ones, each with its GPUs and its resource node:ADDRESS, and then runs PROGRAM where one is
given, as supervise.py does; after the timeout it prints one sentence and exits with
1. A timeout of 0 waits for ever: a node that is repaired tomorrow is expected still.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import socket
import sys
import time


def parse_expected(text):
    """Return GPUs by address of ADDRESS=GPUS,..."""
    pairs = (item.rsplit("=", 1) for item in text.split(",") if item)
    return {address: int(gpus) for address, gpus in pairs}


def alive(nodes):
    """Return GPUs by address of what `ray.nodes()` gave, only of nodes that are alive."""
    return {
        node["NodeManagerAddress"]: int(node["Resources"].get("GPU", 0))
        for node in nodes
        if node["Alive"]
    }


def named(nodes):
    """Return the addresses of `node:ADDRESS`, the resource by which vLLM asks for a node that is alive."""
    return {
        resource.partition(":")[2]
        for node in nodes
        if node["Alive"]
        for resource in node["Resources"]
        if resource.startswith("node:")
    }


def differences(expected, nodes):
    """Return one clause for each difference between the expected nodes and what `ray.nodes()` gave."""
    clauses = []
    got, resources = alive(nodes), named(nodes)
    for address, gpus in sorted(expected.items()):
        if address not in got:
            clauses.append(f"{address} has not joined")
        elif address not in resources:
            clauses.append(f"{address} has no resource node:{address}")
        elif got[address] != gpus:
            clauses.append(f"{address} has {got[address]} GPUs, expected {gpus}")
    clauses += [f"{address} is not in the plan" for address in sorted(set(got) - set(expected))]
    return clauses


# When as many nodes as planned have joined, but others, nobody else is to come. Ray forgets a node that
# left within some seconds.
_SETTLED = 15
_PAUSE = 0.2


class Unplanned(Exception):
    """The nodes of Ray are not the planned ones; the message is one sentence."""


class NoHead(Unplanned):
    """No Ray head answers."""

    def __init__(self, begun, error):
        """Say since when none answers, and how the system or Ray puts it."""
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        super().__init__(
            f"no Ray head answers at {os.environ['RAY_ADDRESS']} after {time.monotonic() - begun:.0f} s "
            f"({reason}); look at the log of the Ray container on the head"
        )


def wait(expected, timeout):
    """Return when the nodes that are alive are the expected ones; raise Unplanned after the timeout."""
    begun = changed = time.monotonic()
    deadline = begun + timeout if timeout else math.inf
    said = None
    while True:
        try:
            found = nodes(begun)
        except NoHead:
            if time.monotonic() > deadline:
                raise
            found, missing = [], [f"no Ray head answers at {os.environ['RAY_ADDRESS']}"]
        else:
            missing = differences(expected, found)
        if not missing:
            return
        now = time.monotonic()
        others = timeout and len(alive(found)) >= len(expected)
        if now > deadline or (others and said == missing and now > changed + _SETTLED):
            raise Unplanned(
                f"the nodes of Ray are not the planned ones after {now - begun:.0f} s: "
                f"{'; '.join(missing)}; look at the logs of the Ray containers"
            )
        if missing != said:
            said, changed = missing, now
            print(f"samewire: waiting for the planned nodes: {'; '.join(missing)}", flush=True)
        time.sleep(_PAUSE)


def nodes(begun):
    """Return of `ray.nodes()` what is read here; begun: since when the head is asked.

    Raises:
        NoHead: It does not answer.
    """
    address, _unused, port = os.environ["RAY_ADDRESS"].rpartition(":")
    try:
        # Ray's own client takes 15 s to say that nobody listens, and seldom looks whether somebody does.
        socket.create_connection((address.strip("[]"), int(port)), timeout=5).close()
    except OSError as error:
        raise NoHead(begun, error) from error
    # Ray reads it when it is imported; its own 30 s are for a head that is still to come.
    os.environ.setdefault("RAY_py_gcs_connect_timeout_s", "5")
    try:
        return asked(begun)
    # What is private to Ray may go with any release.
    except (ImportError, AttributeError, TypeError):
        return told(begun)


def asked(begun):
    """Return the nodes from the head itself: a driver takes a second to start."""
    import ray
    from ray._raylet import GcsClient
    from ray.core.generated.gcs_pb2 import GcsNodeInfo

    try:
        found = GcsClient(address=os.environ["RAY_ADDRESS"]).get_all_node_info(timeout=10)
    except ray.exceptions.RayError as error:
        raise NoHead(begun, error) from error
    return [
        {
            "NodeManagerAddress": node.node_manager_address,
            "Alive": node.state == GcsNodeInfo.ALIVE,
            "Resources": dict(node.resources_total),
        }
        for node in found.values()
    ]


def told(begun):
    """Return what `ray.nodes()` tells a driver."""
    import ray

    try:
        # Whoever waits asks often, and the head remembers each driver.
        if not ray.is_initialized():
            ray.init(
                address=os.environ["RAY_ADDRESS"],
                log_to_driver=False,
                logging_level="ERROR",
                configure_logging=False,
            )
    except (ConnectionError, RuntimeError, ValueError, KeyError) as error:
        # Ray's own words for a head that is not there differ by release.
        raise NoHead(begun, error) from error
    return ray.nodes()


def leave():
    """End the driver, where one was started: what runs afterwards has no use for it."""
    if "ray" in sys.modules:
        sys.modules["ray"].shutdown()


def listing():
    """Return the registered nodes and the versions that they run."""
    found = nodes(time.monotonic())
    import ray

    return {"nodes": alive(found), "ray": ray.__version__, "python": platform.python_version()}


def main():
    """Run one of the two commands."""
    arguments = sys.argv[1:]
    program = []
    if "--" in arguments:
        program = arguments[arguments.index("--") + 1 :]
        arguments = arguments[: arguments.index("--")]
    parser = argparse.ArgumentParser(prog="cluster_nodes.py")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list")
    waiting = commands.add_parser("wait")
    waiting.add_argument("--expect", type=parse_expected, required=True)
    waiting.add_argument("--timeout", type=int, required=True)
    options = parser.parse_args(arguments)
    try:
        if options.command == "list":
            print(json.dumps(listing(), sort_keys=True))
            return
        wait(options.expect, options.timeout)
    except Unplanned as problem:
        sys.exit(f"samewire: {socket.gethostname()}: {problem}")
    finally:
        leave()
    print("samewire: Ray has exactly the planned nodes", flush=True)
    if program:
        import supervise

        supervise.main(program)


if __name__ == "__main__":
    main()
