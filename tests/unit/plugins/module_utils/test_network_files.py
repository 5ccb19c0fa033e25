# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The files that managers of interfaces read, and whose file names an interface already."""

from __future__ import annotations

import configparser
import ipaddress
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.samewire.vllm.plugins.module_utils import _network_files as files
from ansible_collections.samewire.vllm.plugins.module_utils._network_files import Setup

TWO = (
    Setup("enp1s0f0np0", ("192.168.200.12/24", "fd00::12/64"), 9000),
    Setup("on", ("10.5.0.1/31",)),
)
HEAD = "# Written by samewire.vllm.network_setup, which replaces and removes it; do not edit.\n"

NETPLAN = f"""{HEAD}network:
  version: 2
  ethernets:
    "enp1s0f0np0":
      optional: true
      addresses: ["192.168.200.12/24", "fd00::12/64"]
      mtu: 9000
    "on":
      optional: true
      addresses: ["10.5.0.1/31"]
"""
FIRST = f"""{HEAD}[connection]
id=samewire-enp1s0f0np0
uuid=c96f18c1-de97-5aef-a2ee-d3086b7fd637
type=ethernet
interface-name=enp1s0f0np0
autoconnect-priority=1

[ethernet]
mtu=9000

[ipv4]
method=manual
address1=192.168.200.12/24
never-default=true

[ipv6]
method=manual
address1=fd00::12/64
never-default=true
"""
SECOND = f"""{HEAD}[connection]
id=samewire-on
uuid=53da3f0c-4c97-5beb-b3b6-d42329409b2a
type=ethernet
interface-name=on
autoconnect-priority=1

[ipv4]
method=manual
address1=10.5.0.1/31
never-default=true

[ipv6]
method=link-local
"""
IFUPDOWN = f"""{HEAD}
auto enp1s0f0np0
iface enp1s0f0np0 inet static
    address 192.168.200.12/24
    mtu 9000
iface enp1s0f0np0 inet6 static
    address fd00::12/64
    mtu 9000

auto on
iface on inet static
    address 10.5.0.1/31
"""
PROFILES = "/etc/NetworkManager/system-connections"


def test_the_files_of_each_manager() -> None:
    assert files.files("netplan", TWO) == {"/etc/netplan/60-samewire.yaml": NETPLAN}
    assert files.files("NetworkManager", TWO) == {
        f"{PROFILES}/samewire-enp1s0f0np0.nmconnection": FIRST,
        f"{PROFILES}/samewire-on.nmconnection": SECOND,
    }
    assert files.files("ifupdown", TWO) == {"/etc/network/interfaces.d/samewire": IFUPDOWN}
    assert files.files("ip", TWO) == {}
    assert files.files("netplan", ()) == {}


@pytest.mark.skipif(shutil.which("netplan") is None, reason="netplan is not installed")
def test_netplan_reads_its_file(tmp_path: Path) -> None:
    source = tmp_path / "etc/netplan/60-samewire.yaml"
    source.parent.mkdir(parents=True)
    source.write_text(NETPLAN)
    source.chmod(0o600)
    subprocess.run(["netplan", "generate", "--root-dir", str(tmp_path)], check=True)
    made = (tmp_path / "run/systemd/network/10-netplan-enp1s0f0np0.network").read_text()
    assert {"MTUBytes=9000", "Address=192.168.200.12/24", "Address=fd00::12/64"} <= set(
        made.splitlines()
    )
    # And so an interface is found that netplan's files name.
    assert files.owner({"of.network": made}, "enp1s0f0np0", "") == "of.network"
    assert files.owner({"of.network": made}, "enp1s0f1np1", "") is None


@pytest.mark.skipif(shutil.which("nmcli") is None, reason="nmcli is not installed")
@pytest.mark.parametrize("profile", [FIRST, SECOND])
def test_networkmanager_reads_its_files(profile: str) -> None:
    done = subprocess.run(
        ["nmcli", "--offline", "connection", "modify", "connection.autoconnect-priority", "1"],
        input=profile,
        capture_output=True,
        check=True,
        text=True,
    )
    kept = {line for line in profile.splitlines() if "=" in line}
    assert kept <= set(done.stdout.splitlines())


@pytest.mark.skipif(shutil.which("ifquery") is None, reason="ifupdown is not installed")
def test_ifupdown_reads_its_file(tmp_path: Path) -> None:
    source = tmp_path / "samewire"
    source.write_text(IFUPDOWN)
    done = subprocess.run(
        ["ifquery", f"--interfaces={source}", "enp1s0f0np0"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "address: 192.168.200.12\nmtu: 9000\n" in done.stdout


ADDRESSES = st.lists(
    st.one_of(
        st.builds(lambda ip: f"{ip}/24", st.ip_addresses(v=4)),
        st.builds(lambda ip: f"{ip}/64", st.ip_addresses(v=6)),
    ),
    min_size=1,
    max_size=3,
    unique=True,
)
NAMES = st.one_of(
    st.from_regex(r"[A-Za-z0-9_.-]{1,15}", fullmatch=True),
    st.sampled_from(["on", "null", "~", "1e3", "0x1", "1_0", "2026-01-01", "..", "-"]),
).filter(files.is_interface)


@settings(deadline=None)
@given(NAMES, ADDRESSES, st.one_of(st.none(), st.integers(68, 65535)))
def test_any_name_arrives_as_it_is(name: str, addresses: list[str], mtu: int | None) -> None:
    setup = Setup(name, tuple(addresses), mtu)
    (text,) = files.files("netplan", [setup]).values()
    wanted = {"optional": True, "addresses": addresses} | ({} if mtu is None else {"mtu": mtu})
    assert yaml.safe_load(text)["network"]["ethernets"] == {name: wanted}
    ((path, text),) = files.files("NetworkManager", [setup]).items()
    parser = configparser.RawConfigParser()
    parser.read_string(text)
    assert Path(path).parent == Path(PROFILES)
    assert parser["connection"]["interface-name"] == name
    written = [parser[f"ipv{n}"].get(f"address{k}") for n in (4, 6) for k in range(1, 4)]
    assert sorted(filter(None, written)) == sorted(addresses)
    assert all(
        each in written[:3] for each in addresses if ipaddress.ip_interface(each).version == 4
    )
    (text,) = files.files("ifupdown", [setup]).values()
    assert files.owner({"/etc/network/x": text}, name, "") == "/etc/network/x"


@settings(deadline=None)
@given(st.text(max_size=20))
def test_a_name_is_no_more_than_a_name(text: str) -> None:
    if files.is_interface(text):
        assert text.isascii()
        assert not set(text) & set(" \n\t/:;#\"'\\$%[]{}")
        assert len(text) <= 15


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "-i", "a/b", "x\n", "eth0;id", "a" * 16])
def test_what_is_no_name(name: str) -> None:
    assert not files.is_interface(name)


MAC = "02:00:00:00:00:0a"


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.network", "[Match]\nName=en* eth0\n", True),
        ("a.network", "[Match]\nName=!en* eth0\n", False),
        ("a.network", "[Match]\nName=!lo\n", True),
        ("a.network", "[Match]\nName=eth0\n", False),
        ("a.network", "[Match]\nMACAddress=02:00:00:00:00:0A\n", True),
        ("a.network", "[Match]\nPermanentMACAddress=02:00:00:00:00:0b\n", False),
        ("a.network", "[Match]\nType=ether\n", True),
        ("a.network", "[Match]\nType=wlan\n", False),
        ("a.network", "[Network]\nDHCP=yes\n", False),
        ("a.network", "no section", False),
        (f"{PROFILES}/a", "[connection]\ninterface-name=enp1\n", True),
        (f"{PROFILES}/a", "[connection]\ninterface-name=enp2\n[ethernet]\nmac-address=x\n", False),
        (f"{PROFILES}/a", f"[connection]\nid=a\n[ethernet]\nmac-address={MAC.upper()}\n", True),
        (f"{PROFILES}/a", "[connection]\nid=a\n[match]\ninterface-name=eth0;en*;\n", True),
        (f"{PROFILES}/a", "[connection]\nid=Wired connection 1\ntype=ethernet\n", False),
        ("/etc/sysconfig/network-scripts/ifcfg-enp1", "DEVICE=enp1\n", True),
        ("/etc/sysconfig/network-scripts/ifcfg-enp10", "DEVICE=enp10\n", False),
        ("/etc/network/interfaces", "auto lo\niface lo inet loopback\n", False),
        ("/etc/network/interfaces", "allow-hotplug eth0 enp1\n", True),
        ("/etc/network/interfaces", "  iface enp1 inet dhcp\n", True),
        ("/etc/network/interfaces", "# iface enp1 inet dhcp\n", False),
    ],
)
def test_whose_file_names_an_interface(path: str, text: str, names: bool) -> None:
    assert files.owner({path: text}, "enp1", MAC) == (path if names else None)


@pytest.mark.parametrize(
    ("text", "sourced"),
    [
        ("source /etc/network/interfaces.d/*\n", True),
        ("auto lo\nsource-directory interfaces.d\n", True),
        ("# source /etc/network/interfaces.d/*\n", False),
        ("", False),
    ],
)
def test_whether_ifupdown_reads_files_of_others(text: str, sourced: bool) -> None:
    assert files.sources_folder(text) == sourced


def test_the_commands_of_each_manager() -> None:
    nmcli = ["nmcli", "--wait", "20", "connection"]
    assert files.leaving("NetworkManager", ["a", "b"], ["b"]) == [[*nmcli, "down", "samewire-a"]]
    assert files.leaving("ifupdown", ["a", "b"], ["b"]) == [["ifdown", "a"], ["ifdown", "b"]]
    assert files.leaving("netplan", ["a"], []) == files.leaving("ip", ["a"], []) == []
    assert files.entering(["netplan"], "ip", []) == [["netplan", "generate"], ["netplan", "apply"]]
    assert files.entering(["NetworkManager"], "NetworkManager", ["a"]) == [
        ["nmcli", "connection", "reload"],
        [*nmcli, "up", "samewire-a"],
    ]
    assert files.entering(["ifupdown"], "ifupdown", ["a"]) == [["ifup", "a"]]
    assert files.entering(["ip"], "ip", ["a"]) == []
