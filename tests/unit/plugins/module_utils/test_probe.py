# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The probe on a tree that stands in for sysfs, with the output of iproute2 6.1."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ansible_collections.samewire.vllm.plugins.module_utils import _probe, _topology
from tests.unit import sysfs


def link(name: str, *addresses: str, kind: str | None = None, **more: Any) -> dict[str, Any]:
    """One entry of `ip -json -details address`, without the keys that nobody reads."""
    info = []
    for address in addresses:
        local, _, prefix = address.partition("/")
        family = "inet6" if ":" in local else "inet"
        info.append({"family": family, "local": local, "prefixlen": int(prefix), "scope": "global"})
    facts: dict[str, Any] = {
        "ifname": name,
        "flags": ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"],
        "mtu": 1500,
        "operstate": "UP",
        "link_type": "ether",
        "addr_info": info,
    }
    return {**facts, **({"linkinfo": {"info_kind": kind}} if kind else {}), **more}


LINKS = [
    link("lo", "127.0.0.1/8", link_type="loopback", operstate="UNKNOWN"),
    link("enp1s0f0np0", "192.168.200.12/24", "192.168.200.99/24", "fe80::1/64"),
    link("enx0", "169.254.3.1/24"),
    link("wlan0", flags=["BROADCAST", "MULTICAST"], operstate="DOWN"),
    link("enP7s7", "10.1.230.180/24", kind="veth", link="peer0"),
    link("peer0", kind="veth", link="enP7s7", master="docker0"),
    link("docker0", "172.17.0.1/16", kind="bridge"),
    link("vlan7", "10.7.0.1/24", kind="vlan", link="enp1s0f0np0"),
    link("tun0", "10.8.0.1/24", kind="tun", link_type="none", operstate="UNKNOWN"),
    link("ppp0", "10.6.0.1/32", link_type="ppp", operstate="UNKNOWN"),
    {},
]
ROUTES: list[dict[str, Any]] = [
    {"type": "unicast", "dst": "default", "gateway": "192.168.200.1", "dev": "enp1s0f0np0",
     "metric": 200, "flags": []},
    {"type": "unicast", "dst": "default", "gateway": "10.1.230.1", "dev": "enP7s7",
     "metric": 100, "flags": []},
    {"type": "unicast", "dst": "10.8.0.0/24", "dev": "tun0", "flags": ["linkdown"]},
    {"type": "blackhole", "dst": "10.98.0.0/16", "flags": []},
    {"type": "unicast", "dst": "10.99.0.0/16", "flags": [],
     "nexthops": [{"gateway": "10.1.230.1", "dev": "enP7s7", "weight": 1, "flags": []}]},
]  # fmt: skip


def ip(links: list[dict[str, Any]], routes: list[dict[str, Any]], family: str = "-4") -> _probe.Run:
    """A stand-in for iproute2 that knows two commands."""
    known = {("address",): links, (family, "route"): routes}

    def run(argv: Sequence[str]) -> tuple[int, str, str]:
        assert list(argv[:3]) == ["ip", "-json", "-details"]
        return 0, json.dumps(known[tuple(argv[3:])]), ""

    return run


def gathered(system: _probe.System) -> _topology.Host:
    return _topology.parse_host("", _probe.gather(system))


def test_facts_of_a_host(tmp_path: Path) -> None:
    root = str(sysfs.build(tmp_path))

    facts = _probe.gather(_probe.System(ip(LINKS, ROUTES), root))

    assert facts["interfaces"][1] == {
        "name": "enp1s0f0np0",
        "type": "ethernet",
        "state": "up",
        "addresses": ["192.168.200.12/24", "192.168.200.99/24", "fe80::1/64"],
        "mtu": 1500,
        "speed_mbps": 100000,
        "driver": "mlx5_core",
        "pci": "0000:01:00.0",
        "numa_node": 0,
        "phys_port": "p0",
    }
    assert facts["rdma"] == [
        {
            "device": "rocep1s0f0",
            "port": 1,
            "state": "Active",
            "link_layer": "Ethernet",
            "rate_gbps": 100.0,
            "netdev": "enp1s0f0np0",
            "gids": [[0, "RoCE v1", "fe80::ff:fe00:1"], [10, "RoCE v2", "::ffff:192.168.200.12"]],
            "driver": "mlx5_core",
            "pci": "0000:01:00.0",
            "numa_node": 0,
        }
    ]
    assert facts["gpus"] == [{"pci": "000f:01:00.0"}]
    assert facts["default_route_interface"] == "enP7s7"
    assert facts["routes"] == [
        {"destination": "10.99.0.0/16", "family": 4, "interface": "enP7s7", "gateway": "10.1.230.1"},
        {"destination": "default", "family": 4, "interface": "enP7s7", "gateway": "10.1.230.1"},
        {"destination": "default", "family": 4, "interface": "enp1s0f0np0",
         "gateway": "192.168.200.1"},
    ]  # fmt: skip
    assert "absent" not in facts


def test_kind_state_and_relations_of_interfaces(tmp_path: Path) -> None:
    host = gathered(_probe.System(ip(LINKS, ROUTES), str(sysfs.build(tmp_path))))

    seen = {e.name: (e.kind, e.state, e.master, e.parent) for e in host.interfaces}
    assert seen == {
        "lo": ("loopback", "unknown", None, None),
        "enp1s0f0np0": ("physical", "up", None, None),
        "enx0": ("usb", "up", None, None),
        "wlan0": ("wifi", "down", None, None),
        "enP7s7": ("veth", "up", None, None),
        "peer0": ("veth", "up", "docker0", None),
        "docker0": ("bridge", "up", None, None),
        "vlan7": ("vlan", "up", None, "enp1s0f0np0"),
        "tun0": ("tunnel", "unknown", None, None),
        "ppp0": ("tunnel", "unknown", None, None),
    }
    gadget = host.interface("enx0")
    assert gadget is not None
    assert (gadget.driver, gadget.speed_mbps) == ("cdc_ether", None)


def test_a_partition_knows_its_port_and_a_port_its_vrf(tmp_path: Path) -> None:
    links = [
        link("ib0", link_type="infiniband"),
        link("ib0.8001", "10.20.0.1/24", kind="ipoib", link="ib0", link_type="infiniband"),
        link("mgmt", kind="vrf"),
        link("eth0", "10.0.0.1/24", master="mgmt"),
    ]
    host = gathered(_probe.System(ip(links, []), str(tmp_path)))
    assert {e.name: (e.type, e.parent, e.master) for e in host.interfaces} == {
        "ib0": ("infiniband", None, None),
        "ib0.8001": ("infiniband", "ib0", None),
        "mgmt": ("vrf", None, None),
        "eth0": ("ethernet", None, "mgmt"),
    }


def test_addresses_that_the_kernel_gives_up_do_not_count(tmp_path: Path) -> None:
    entry = link("eth0", "10.0.0.1/24", "2001:db8::1/64", "2001:db8::2/64")
    entry["addr_info"][1]["deprecated"] = True
    entry["addr_info"][2]["dadfailed"] = True

    host = gathered(_probe.System(ip([entry], []), str(tmp_path)))

    assert [str(each) for each in host.interfaces[0].addresses or ()] == ["10.0.0.1/24"]


def test_host_without_ipv4_reads_the_routes_of_ipv6(tmp_path: Path) -> None:
    routes = [{"dst": "default", "gateway": "fe80::1", "dev": "eth0", "flags": []}]

    host = gathered(
        _probe.System(ip([link("eth0", "2001:db8::1/64")], routes, "-6"), str(tmp_path))
    )

    assert host.default_route_interface == "eth0"
    assert host.routes is not None
    assert str(host.routes[0].destination) == "::/0"


def test_what_cannot_be_read_is_absent_with_its_reason(tmp_path: Path) -> None:
    facts = _probe.gather(
        _probe.System(lambda argv: (127, "", "ip is not installed\n"), str(tmp_path))
    )

    assert facts == {
        "interfaces": [],
        "rdma": [],
        "gpus": [],
        "absent": {
            "interfaces": "ip is not installed",
            "rdma": f"no {tmp_path}/class/infiniband",
            "gpus": f"no {tmp_path}/bus/pci/devices",
        },
    }


def test_ip_without_json_is_absent_with_its_reason(tmp_path: Path) -> None:
    facts = _probe.gather(_probe.System(lambda argv: (0, "1: lo: <LOOPBACK>", ""), str(tmp_path)))

    assert facts["absent"]["interfaces"] == "ip does not print JSON"


def test_port_without_gids_finds_its_interface_by_the_number_of_the_port(tmp_path: Path) -> None:
    for name, number in (("ib0", "0"), ("ib1", "1")):
        folder = tmp_path / "class/infiniband/mlx4_0/device/net" / name
        folder.mkdir(parents=True)
        (folder / "dev_port").write_text(f"{number}\n", encoding="ascii")
    for number in ("1", "2"):
        (tmp_path / "class/infiniband/mlx4_0/ports" / number).mkdir(parents=True)

    host = gathered(_probe.System(ip([], [], "-6"), str(tmp_path)))

    assert [(port.port, port.netdev) for port in host.rdma or ()] == [(1, "ib0"), (2, "ib1")]


def test_a_gid_that_cannot_be_read_is_stated_without_an_address(tmp_path: Path) -> None:
    root = sysfs.build(tmp_path)
    gid = next(root.glob("**/gids/10"))
    gid.write_text("not an address\n", encoding="ascii")
    facts = _probe.gather(_probe.System(ip(LINKS, ROUTES), str(root)))
    assert [10, "RoCE v2", None] in facts["rdma"][0]["gids"]
