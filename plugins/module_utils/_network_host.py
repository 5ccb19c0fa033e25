# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Reads and changes the network of this host; needs root and iproute2.

A change that nobody confirms is taken back by a watchdog, a process of its own: the controller may have
lost the host, and then nobody else can.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import secrets
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from typing import Any, Callable

from ansible_collections.samewire.vllm.plugins.module_utils import _background as background
from ansible_collections.samewire.vllm.plugins.module_utils import _network_change as change
from ansible_collections.samewire.vllm.plugins.module_utils import _network_files as network_files
from ansible_collections.samewire.vllm.plugins.module_utils import _probe, _topology
from ansible_collections.samewire.vllm.plugins.module_utils._network_change import Link, State

Run = Callable[[Sequence[str]], "tuple[int, str, str]"]
"""Takes an argument list, returns exit code, stdout and stderr; 127 where there is no such program."""

_NETPLAN_FOLDERS = ("lib/netplan", "etc/netplan", "run/netplan")
# An abstract socket belongs to the network namespace, so there is one change of a network at a time.
_BELL = "\0samewire-network-setup"
_ANSWER_SECONDS = 5.0
# Of a manager that hangs; netplan may take half a minute to restart what it must.
_CHANGE_SECONDS = 120.0
_PING_SECONDS = 3


class ChangeFailed(Exception):
    """The host does not take the change; the message says why."""


def read(path: str) -> str:
    """Return the text of a file, empty where there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return ""


def links(run: Run) -> dict[str, dict[str, Any]]:
    """Return what is known of each interface: up, carrier, mac, mtu, min_mtu, max_mtu, addresses.

    Addresses that come and go by themselves (DHCP, link-local, temporary) are left out.
    """
    code, out, err = run(["ip", "-json", "-details", "address"])
    if code:
        raise ChangeFailed(f"ip cannot be used ({err.strip()}), expected iproute2 4.17 or later")
    return {
        each["ifname"]: {
            "up": "UP" in each["flags"],
            "carrier": "LOWER_UP" in each["flags"],
            "mac": each.get("address", ""),
            "mtu": each["mtu"],
            # Zero says that the driver names no bound.
            "min_mtu": each.get("min_mtu") or None,
            "max_mtu": each.get("max_mtu") or None,
            "addresses": sorted(
                str(ipaddress.ip_interface(f"{row['local']}/{row['prefixlen']}"))
                for row in each["addr_info"]
                if not (row.keys() & {"dynamic", "temporary", "address"})
                and not (row["family"] == "inet6" and row["scope"] == "link")
            ),
        }
        for each in json.loads(out)
        if each
    }


def facts(run: Run, interfaces: Sequence[str]) -> dict[str, Any]:
    """Return what `_network_setup` judges, as plain data; changes nothing."""
    found = links(run)
    host = _probe.gather(_probe.System(run))
    record = change.parse_record(read(change.RECORD))
    problems = []
    if run(["ping", "-V"])[0] == 127:
        problems.append(
            "ping is not installed, expected it for the proof of the new addresses; install it (Debian, "
            "Ubuntu: apt install iputils-ping)"
        )
    try:
        texts = _configurations(run)
    except ChangeFailed as refused:
        problems.append(str(refused))
        texts = {}
    owners = {
        each: network_files.owner(texts, each, found[each]["mac"])
        for each in interfaces
        if each in found
    }
    return {
        "host": host,
        "links": found,
        "networks": _networks(run, _topology.parse_host("", host)),
        "ssh": _ssh_address(),
        "manager": _manager(run, interfaces),
        "owners": {name: each for name, each in owners.items() if each},
        "made": {each.setup.interface: list(each.addresses) for each in record.made},
        "problems": problems,
    }


def state(run: Run, record: change.Record, paths: Iterable[str], touched: Iterable[str]) -> State:
    """Return what the host has now of all that a change touches."""
    found = links(run)
    texts = {path: read(path) for path in paths}
    return State(
        manager=record.manager,
        setups=record.setups,
        files={path: text for path, text in texts.items() if text},
        links={
            each: Link(frozenset(found[each]["addresses"]), found[each]["mtu"])
            for each in touched
            if each in found
        },
    )


def step(run: Run, here: State, there: State, stubborn: bool = False) -> None:
    """Go from one state to another.

    Raises ChangeFailed where a manager refuses it on the way; a stubborn step goes on.
    """
    for argv in change.before_files(here, there):
        run(argv)
    for path in sorted(here.files.keys() - there.files.keys()):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    with contextlib.suppress(OSError):
        os.rmdir(os.path.dirname(change.RECORD))
    for path, text in there.files.items():
        _write(path, text)
    for argv in change.after_files(here, there):
        _told(run, argv, stubborn)
    now = {
        name: Link(frozenset(each["addresses"]), each["mtu"]) for name, each in links(run).items()
    }
    for argv in change.moves(here, there, now):
        # What a manager has taken away in the meantime cannot be deleted.
        _told(run, argv, stubborn or "delete" in argv)


def _told(run: Run, argv: Sequence[str], stubborn: bool) -> None:
    code, out, err = run(argv)
    if code and not stubborn:
        said = (err or out).strip().splitlines()
        raise ChangeFailed(f"{' '.join(argv)} failed ({said[-1] if said else code})")


def alone() -> socket.socket:
    """Return what no other change has while this one has it; raises ChangeFailed where another one does."""
    bell = socket.socket(socket.AF_UNIX)
    try:
        bell.bind(_BELL)
    except OSError:
        bell.close()
        raise ChangeFailed(
            "another run has changed the network and is not confirmed yet, expected none; wait until its "
            "time is over, and run it again"
        ) from None
    return bell


def watched(run: Run, bell: socket.socket, here: State, there: State, seconds: int) -> str:
    """Go to another state, and leave a watchdog that comes back unless `confirm` is called in time.

    bell: of `alone`. Returns the key for `confirm`. Raises ChangeFailed, and comes back at once, where a
    manager refuses the change.
    """
    key = secrets.token_hex(8)
    bell.listen()
    ended, changing = os.pipe()

    def watch() -> None:
        os.close(changing)
        if not _confirmed(bell, key, ended, seconds):
            # The bell stays until all is restored, so that no other change begins before.
            step(run, there, here, stubborn=True)

    background.detached(watch)
    os.close(ended)
    refused = None
    try:
        step(run, here, there)
    except ChangeFailed as failed:
        step(run, there, here, stubborn=True)
        refused = failed
    finally:
        os.close(changing)
    if refused:
        confirm(key)
        raise refused
    return key


def confirm(key: str) -> bool:
    """Let a change stay; False where it was taken back already."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(_ANSWER_SECONDS)
        client.connect(_BELL)
        client.sendall(f"{key}\n".encode())
        return client.recv(16) == b"kept\n"
    return False


def ping(program: str, address: str, interface: str) -> tuple[int, str | None]:
    """Send a packet as large as the interface takes, and return its size and what is wrong, else None."""
    mtu = min(int(read(f"/sys/class/net/{interface}/mtu") or 0), 65535)
    size = mtu - (48 if ":" in address else 28)  # the headers of IP and ICMP
    argv = ["ping", "-n", "-M", "do", "-c", "1", "-w", str(_PING_SECONDS), "-s", str(size)]
    done = subprocess.run(
        [*argv, "-I", interface, address],
        # What it says of itself begins with the name by which it was called.
        executable=program,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    if done.returncode == 0:
        return mtu, None
    # What it hears from routers, and what the own kernel says.
    said = [line for line in done.stdout.splitlines() if line.startswith(("From ", "ping: "))]
    return mtu, said[-1] if said else f"no answer in {_PING_SECONDS} s"


def _confirmed(bell: socket.socket, key: str, ended: int, seconds: int) -> bool:
    """Tell whether somebody with the key rings in time, which begins when the change has ended.

    ended: of a pipe whose other end the change has, and which closes also when it dies.
    """
    select.select([ended], [], [], _CHANGE_SECONDS)
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        bell.settimeout(left)
        with contextlib.suppress(OSError):
            client, _unused = bell.accept()
            with client:
                client.settimeout(_ANSWER_SECONDS)
                peer = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
                # Of this user, and of the run that made the change.
                if (
                    struct.unpack("3i", peer)[1] == os.geteuid()
                    and client.recv(64) == f"{key}\n".encode()
                ):
                    client.sendall(b"kept\n")
                    return True
    return False


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    new = f"{path}.samewire"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(new, path)


def _networks(run: Run, host: _topology.Host) -> list[tuple[str, str]]:
    """The networks that the host reaches without a gateway's default route, with the interface."""
    found = [
        (each.name, str(address.network))
        for each in host.interfaces
        for address in each.addresses or ()
        if each.kind != "loopback"
    ]
    for family in ("-4", "-6"):
        code, out, _unused = run(["ip", "-json", family, "route"])
        for row in json.loads(out or "[]") if code == 0 else ():
            text, interface = row.get("dst", "default"), row.get("dev")
            if text != "default" and interface and not text.startswith(("fe80:", "ff00:")):
                found.append((interface, str(ipaddress.ip_network(text, strict=False))))
    return list(dict.fromkeys(found))


def _ssh_address() -> str:
    """The address of this host that the SSH connection came in on, empty without one.

    Programs that change the user drop the variable, so those that this one was started from are asked.
    """
    process = "self"
    while process not in ("0", "1"):
        for entry in read(f"/proc/{process}/environ").split("\0"):
            if entry.startswith("SSH_CONNECTION="):
                words = entry.partition("=")[2].split()
                return words[2].partition("%")[0] if len(words) == 4 else ""
        lines = read(f"/proc/{process}/status").splitlines()
        process = next((line.split()[1] for line in lines if line.startswith("PPid:")), "0")
    return ""


def _manager(run: Run, interfaces: Sequence[str]) -> str:
    """Who gives interfaces their addresses on this host."""
    if run(["netplan", "--help"])[0] != 127 and any(_yamls()):
        return network_files.NETPLAN
    if run(["nmcli", "--get-values", "RUNNING", "general"])[1].strip() == "running":
        states = [
            run(["nmcli", "--get-values", "GENERAL.STATE", "device", "show", each])[1]
            for each in interfaces
        ]
        if not any("unmanaged" in each for each in states):
            return network_files.NETWORK_MANAGER
    sourced = network_files.sources_folder(read("/etc/network/interfaces"))
    if sourced and run(["ifup", "--version"])[0] != 127:
        return network_files.IFUPDOWN
    return network_files.IP


def _yamls() -> list[str]:
    """Return the files of netplan, ours left out."""
    return [
        path
        for path in _found("/", _NETPLAN_FOLDERS, ".yaml")
        if path != network_files.NETPLAN_FILE
    ]


def _configurations(run: Run) -> dict[str, str]:
    """The files of others that may name an interface, text by path."""
    network_manager = network_files.PROFILES.lstrip("/")
    ours = network_files.profile("")
    paths = [
        *_found("/", ("etc/systemd/network",), ".network"),
        *_found("/", (network_manager,), ""),
        *_found("/", ("etc/sysconfig/network-scripts",), ""),
        *_found("/", ("etc/network",), "interfaces"),
        *_found("/", ("etc/network/interfaces.d",), ""),
    ]
    texts = {
        path: read(path)
        for path in paths
        if path != network_files.IFUPDOWN_FILE and not os.path.basename(path).startswith(ours)
    }
    return {**texts, **_netplan_configurations(run)}


def _netplan_configurations(run: Run) -> dict[str, str]:
    """What netplan makes of its files, which it alone can read, in the form of those it writes for."""
    sources = _yamls()
    if not sources:
        return {}
    root = tempfile.mkdtemp(prefix="samewire-")
    try:
        for path in sources:
            os.makedirs(root + os.path.dirname(path), exist_ok=True)
            shutil.copyfile(path, root + path)
            os.chmod(root + path, 0o600)
        code, _unused, err = run(["netplan", "generate", "--root-dir", root])
        if code == 127:
            return {}
        if code:
            last = (err.strip().splitlines() or [str(code)])[-1].replace(root, "")
            raise ChangeFailed(
                f"netplan cannot read its files ({last}), expected files that netplan generate takes; "
                "correct them"
            )
        made = [
            *_found(root, ("run/systemd/network",), ".network"),
            *_found(root, ("run/NetworkManager/system-connections",), ""),
        ]
        return {f"netplan, {path[len(root) :]}": read(path) for path in made}
    finally:
        shutil.rmtree(root)


def _found(root: str, folders: Iterable[str], end: str) -> list[str]:
    paths = []
    for folder in folders:
        full = os.path.join(root, folder)
        with contextlib.suppress(OSError):
            paths += [
                os.path.join(full, name) for name in sorted(os.listdir(full)) if name.endswith(end)
            ]
    return [path for path in paths if os.path.isfile(path)]
