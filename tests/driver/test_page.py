# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The plan as a page: what it says, that nothing leaves the drawing, and that a browser shows it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from samewire import facts, page
from tests.unit.facts import host, nic, roce, spark

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
SVG = "{http://www.w3.org/2000/svg}"


def known(count: int) -> facts.Facts:
    """Hosts with a LAN, a fabric whose address differs, and six more interfaces."""
    hosts = [
        host(
            f"gpu-{number:02}",
            nic("eno1", f"10.1.0.{number + 1}/24", speed_mbps=10000),
            nic("ens1", f"10.2.0.{number + 1}/24", speed_mbps=400000, mtu=9000),
            *(nic(f"ens{extra}f0np0", state="down") for extra in range(2, 8)),
            rdma=[roce("mlx5_0", "ens1", rate_gbps=400)],
            default_route_interface="eno1",
        )
        for number in range(count)
    ]
    return facts.parse({"cluster": "hall", "hosts": hosts}, "FILE", "hall")


def rendered(of: facts.Facts) -> str:
    return page.render(of.plan(), of)


def drawings(text: str) -> list[ElementTree.Element]:
    return [
        ElementTree.fromstring(
            found.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
        )
        for found in re.findall(r"<svg .*?</svg>", text, re.DOTALL)
    ]


@pytest.mark.parametrize("count", [2, 3, 32])
def test_every_host_is_drawn_with_its_address(count: int) -> None:
    rows = drawings(rendered(known(count)))
    assert len(rows) == (count + 1) // 2
    texts = [text.text for row in rows for text in row.iter(f"{SVG}text")]
    for number in range(count):
        assert f"gpu-{number:02}" in texts
        assert f"10.2.0.{number + 1}/24" in texts
    hints = [title.text for row in rows for title in row.iter(f"{SVG}title")]
    reason = "eno1 10.1.0.1: 10.1.0.0/24 is slower (10000 Mb/s, the chosen one 400000 Mb/s)"
    assert reason in hints


@pytest.mark.parametrize("count", [2, 32])
def test_nothing_leaves_its_card(count: int) -> None:
    for row in drawings(rendered(known(count))):
        height = float(row.attrib["viewBox"].split()[3])
        for rect in row.iter(f"{SVG}rect"):
            x, y, w, h = (float(rect.attrib[key]) for key in ("x", "y", "width", "height"))
            assert x >= 0
            assert x + w <= page.CARD
            assert y + h <= height


def test_the_reasons_stand_in_the_text_too() -> None:
    text = rendered(known(32))
    assert '<td>all 32</td><td class="name">eno1</td>' in text
    assert text.count("10.1.0.0/24 is slower (10000 Mb/s, the chosen one 400000 Mb/s)</td>") == 1


def test_the_second_twin_is_a_rail_and_no_reject() -> None:
    hosts = [spark(n, f"192.168.200.1{n}/24") for n in (0, 1)]
    text = rendered(facts.parse({"hosts": hosts}, "FILE", "pair"))
    (row,) = drawings(text)
    rails = [
        group.findtext(f"{SVG}text")
        for group in row.iter(f"{SVG}g")
        if group.attrib.get("class") == "other rail"
    ]
    assert rails == ["enP2p1s0f0np0", "enP2p1s0f0np0"]


def test_no_plan_is_a_page_that_says_so() -> None:
    hosts = [host(f"h{n}", nic("eth0", f"10.{n}.0.1/24")) for n in (0, 1)]
    text = rendered(facts.parse({"hosts": hosts}, "FILE", "pair"))
    assert "There is no plan." in text
    assert "(no_common_subnet: h1)" in text
    assert len(drawings(text)) == 1


def test_nothing_of_a_host_becomes_markup() -> None:
    hosts = [
        host(f"h{n}", nic("eth0", f"10.0.0.{n}/24"), nic("eth1", state="<b>&amp;</b>"))
        for n in (1, 2)
    ]
    assert "<b>" not in rendered(facts.parse({"hosts": hosts}, "FILE", "pair"))


def test_the_page_needs_nothing_else() -> None:
    text = rendered(known(2))
    assert re.findall(r"""(?:src|href)=["'](?!data:)[^"']*""", text) == []
    assert "<script" not in text
    assert "url(" not in text


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.parametrize("count", [2, 32])
def test_a_browser_shows_it(count: int, tmp_path: Path) -> None:
    file = tmp_path / "plan.html"
    file.write_text(rendered(known(count)), encoding="utf-8")
    shown = browse(file, tmp_path, "--dump-dom")
    assert "CONSOLE" not in shown.stderr
    for number in range(count):
        assert f"10.2.0.{number + 1}/24</text>" in shown.stdout
    picture = tmp_path / "plan.png"
    browse(file, tmp_path, f"--screenshot={picture}", "--window-size=1200,1200")
    assert picture.read_bytes().startswith(b"\x89PNG")


def browse(file: Path, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    quiet: list[Any] = [
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        *("--enable-logging=stderr", f"--user-data-dir={folder / 'profile'}"),
    ]
    return subprocess.run(
        [str(CHROMIUM), *quiet, *options, file.as_uri()],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
