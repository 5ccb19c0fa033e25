# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The site is built without a broken link, and has a page for all that there is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.samewire.vllm.plugins.module_utils._diagnosis import RULES
from docs.options import prose, table
from docs.reference import ROOT, commands


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_every_page_is_reached_from_the_navigation(site: Path) -> None:
    home = (site / "index.html").read_text(encoding="utf-8")
    pages = {page.relative_to(site).as_posix() for page in site.rglob("*.html")} - {"404.html"}
    assert [page for page in sorted(pages) if f'href="{page}"' not in home] == []


def test_there_is_a_page_for_each_role_module_filter_and_finding(site: Path) -> None:
    sources = {
        "reference/roles": [role.name for role in (ROOT / "roles").iterdir()],
        "reference/modules": [file.stem for file in (ROOT / "plugins/modules").glob("*.py")],
        "reference/filter": [file.stem for file in (ROOT / "plugins/filter").glob("*.py")],
        "findings": [rule.id for rule in RULES],
    }
    for folder, names in sources.items():
        assert sorted(page.stem for page in (site / folder).glob("*.html")) == sorted(names)


def test_the_references_name_each_command_and_playbook(site: Path) -> None:
    verbs = (site / "reference/command-line.html").read_text(encoding="utf-8")
    assert [name for name in commands() if f">{name}<" not in verbs] == []
    playbooks = (site / "reference/playbooks.html").read_text(encoding="utf-8")
    names = [file.stem for file in (ROOT / "playbooks").glob("*.yml")]
    assert [name for name in names if f"samewire.vllm.{name}" not in playbooks] == []


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert 'src="http' not in text
        assert '<link rel="stylesheet" href="http' not in text


def test_markup_of_ansible_becomes_code() -> None:
    text = ["Asks C(ip) and M(samewire.vllm.node_info).", "As P(samewire.vllm.node_gpus#filter)."]
    assert prose(text) == "Asks `ip` and `samewire.vllm.node_info`. As `samewire.vllm.node_gpus`."


def test_options_within_options_have_a_dotted_name() -> None:
    inner = {"type": "int", "default": 3, "description": "How many."}
    option = {
        "type": "dict",
        "required": True,
        "description": "Limits.",
        "options": {"most": inner},
    }
    assert table("option", {"limits": option})[2:] == [
        "| `limits` | dict | required | Limits. |",
        "| `limits.most` | int | `3` | How many. |",
    ]
