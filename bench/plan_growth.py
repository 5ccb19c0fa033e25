# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""How the CPU time of a plan grows with the hosts; run it as python bench/plan_growth.py [HOSTS...].

Each host has 16 interfaces and 8 RDMA ports: a bond for management, eight rails in eight networks,
ports of the bond, bridges and links of containers.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from samewire.facts import parse

RAILS = 8
SIZES = (100, 300, 1_000, 3_000, 10_000)


def host(number: int) -> dict[str, Any]:
    """Return the facts of one host, all of them with an address of its own in each network."""
    high, low = divmod(number, 250)
    interfaces: list[dict[str, Any]] = [
        {"name": "lo", "type": "loopback", "state": "unknown", "addresses": ["127.0.0.1/8"]},
        {"name": "docker0", "type": "bridge", "state": "up", "addresses": ["172.17.0.1/16"]},
        {
            "name": "bond0",
            "type": "bond",
            "state": "up",
            "mtu": 1500,
            "speed_mbps": 50_000,
            "addresses": [f"10.128.{high}.{low + 1}/16"],
        },
        *({"name": f"eno{n}", "type": "ethernet", "master": "bond0"} for n in (1, 2)),
        *({"name": f"veth{n}", "type": "veth", "master": "docker0"} for n in range(3)),
    ]
    interfaces += [
        {
            "name": f"ens{rail}f0np0",
            "type": "ethernet",
            "state": "up",
            "mtu": 9000,
            "speed_mbps": 400_000,
            "pci": f"0000:{rail + 1:02x}:00.0",
            "addresses": [f"10.{rail}.{high}.{low + 1}/16"],
        }
        for rail in range(RAILS)
    ]
    rdma = [
        {
            "device": f"mlx5_{rail}",
            "port": 1,
            "state": "Active",
            "link_layer": "Ethernet",
            "rate_gbps": 400,
            "netdev": f"ens{rail}f0np0",
            "gids": [[3, "RoCE v2", f"::ffff:10.{rail}.{high}.{low + 1}"]],
        }
        for rail in range(RAILS)
    ]
    return {
        "name": f"gpu{number}",
        "interfaces": interfaces,
        "rdma": rdma,
        "default_route_interface": "bond0",
    }


def seconds(size: int) -> tuple[float, float]:
    """Return the CPU time that it takes to read the facts of that many hosts, and to plan for them."""
    document = {"cluster": "bench", "hosts": [host(number) for number in range(size)]}
    started = time.process_time()
    facts = parse(document, "the benchmark", "bench")
    del document  # as where it came from a file
    read = time.process_time()
    plan = facts.plan()
    ended = time.process_time()
    if plan.get("transport") != "rdma":
        raise SystemExit(f"the plan is not the one that is measured: {plan}")
    return read - started, ended - read


def main() -> None:
    """Print the table."""
    sizes = [int(text) for text in sys.argv[1:]] or SIZES
    print(f"{len(host(0)['interfaces'])} interfaces and {RAILS} RDMA ports a host")
    print(f"{'hosts':>7}  {'facts s':>8}  {'plan s':>8}  {'plan us/host':>12}")
    for size in sizes:
        facts, plan = seconds(size)
        print(f"{size:7}  {facts:8.3f}  {plan:8.3f}  {plan / size * 1e6:12.1f}")


if __name__ == "__main__":
    main()
