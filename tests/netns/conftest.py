# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Network segments for tests, where this machine may make them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from tests.netns.segment import Segment


def _why_not() -> str | None:
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "network namespaces need iproute2"
    name = f"swtry{os.getpid()}"
    try:
        subprocess.run(["ip", "netns", "add", name], check=True, capture_output=True)
        subprocess.run(
            ["ip", "-n", name, "link", "add", "v0", "type", "veth", "peer", "name", "v1"],
            check=True,
            capture_output=True,
        )
    except subprocess.CalledProcessError as error:
        return f"this machine makes no network namespaces: {error.stderr.decode().strip()}"
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)
    return None


@pytest.fixture(scope="session")
def can_make_namespaces() -> None:
    if (reason := _why_not()) is not None:
        pytest.skip(reason)


@pytest.fixture
def segment(can_make_namespaces: None) -> Iterator[Segment]:
    segment = Segment(f"sw{os.getpid()}")
    try:
        yield segment
    finally:
        segment.close()


@pytest.fixture
def nft(can_make_namespaces: None) -> None:
    if shutil.which("nft", path="/usr/sbin:/usr/bin:/sbin") is None:
        pytest.skip("nft is not installed")


@pytest.fixture
def firewall(can_make_namespaces: None) -> None:
    if shutil.which("iptables") is None:
        pytest.skip("iptables is not installed")
