# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""A tree with the layout of sysfs: a DGX Spark with one cable, an NVIDIA GPU and a USB gadget."""

from __future__ import annotations

from pathlib import Path

_PCI = "0000:01:00.0"


def build(root: Path) -> Path:
    """Writes the tree below the folder and returns it."""
    function = root / "devices/pci0000:00/0000:00:00.0" / _PCI
    usb = root / "devices/pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0"
    port = function / "infiniband/rocep1s0f0/ports/1"
    files = {
        function / "vendor": "0x15b3",
        function / "class": "0x020000",
        function / "numa_node": "0",
        function / "net/enp1s0f0np0/dev_port": "0",
        function / "net/enp1s0f0np0/speed": "100000",
        function / "net/enp1s0f0np0/phys_port_name": "p0",
        port / "state": "4: ACTIVE",
        port / "link_layer": "Ethernet",
        port / "rate": "100 Gb/sec (4X EDR)",
        port / "gids/0": "fe80:0000:0000:0000:0000:00ff:fe00:0001",
        port / "gids/1": "0000:0000:0000:0000:0000:0000:0000:0000",
        port / "gids/10": "0000:0000:0000:0000:0000:ffff:c0a8:c80c",
        port / "gid_attrs/types/0": "IB/RoCE v1",
        port / "gid_attrs/types/10": "RoCE v2",
        port / "gid_attrs/ndevs/10": "enp1s0f0np0",
        usb / "net/enx0/speed": "-1",
        root / "devices/000f/000f:01:00.0/vendor": "0x10de",
        root / "devices/000f/000f:01:00.0/class": "0x030000",
        root / "devices/000f/000f:01:00.0/numa_node": "-1",
        root / "devices/000f/000f:01:00.1/vendor": "0x10de",
        root / "devices/000f/000f:01:00.1/class": "0x040300",
        root / "class/net/wlan0/phy80211/name": "phy0",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n", encoding="ascii")
    links = {
        function / "driver": "/sys/bus/pci/drivers/mlx5_core",
        function / "net/enp1s0f0np0/device": str(function),
        function / "infiniband/rocep1s0f0/device": str(function),
        usb / "driver": "/sys/bus/usb/drivers/cdc_ether",
        usb / "subsystem": "/sys/bus/usb",
        usb / "net/enx0/device": str(usb),
        root / "class/net/enp1s0f0np0": str(function / "net/enp1s0f0np0"),
        root / "class/net/enx0": str(usb / "net/enx0"),
        root / "class/infiniband/rocep1s0f0": str(function / "infiniband/rocep1s0f0"),
        root / "bus/pci/devices" / _PCI: str(function),
        root / "bus/pci/devices/000f:01:00.0": str(root / "devices/000f/000f:01:00.0"),
        root / "bus/pci/devices/000f:01:00.1": str(root / "devices/000f/000f:01:00.1"),
    }
    for path, target in links.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
    return root
