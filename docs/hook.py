# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What mkdocs adds to the pages of this folder: those that are made from the code, and those of the root."""

from __future__ import annotations

import fnmatch
import re
from pathlib import PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from docs import findings, reference

ROOT = reference.ROOT
# Pages of the root, which there link into this folder.
OUTER = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are written elsewhere, and name them in the navigation."""
    made = {**_outer(), **reference.pages(), **findings.pages()}
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    config.nav = _unfolded(config.nav, sorted(made))
    return files


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Drop the comments above the title, which hide it; let the list of findings lead to the page of each."""
    text = re.sub(r"\A(<!--.*?-->\s*)+", "", markdown, flags=re.DOTALL)
    if page.file.src_uri == "findings.md":
        return re.sub(r"^## (\w+)$", r"## [\1](findings/\1.md)", text, flags=re.MULTILINE)
    return text


def _outer() -> dict[str, str]:
    return {
        path: (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        for path, name in OUTER.items()
    }


def _unfolded(nav: Any, made: list[str]) -> Any:
    """Return the navigation with the pages of each folder in place of `FOLDER/*.md`."""
    if isinstance(nav, dict):
        return {title: _unfolded(entry, made) for title, entry in nav.items()}
    if not isinstance(nav, list):
        return nav
    unfolded: list[Any] = []
    for entry in nav:
        if isinstance(entry, str) and entry.endswith("*.md"):
            unfolded += [{PurePosixPath(each).stem: each} for each in fnmatch.filter(made, entry)]
        else:
            unfolded.append(_unfolded(entry, made))
    return unfolded
