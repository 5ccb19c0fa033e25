# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What holds for the whole repository, on whatever is in it."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "plugins"
OWN_MODULE_UTILS = "ansible_collections.samewire.vllm.plugins.module_utils"
# What reaches beyond the process: _probe.py reads the host, _engine.py talks with its Docker Engine,
# _local_api.py with its server, _wire_*.py with other hosts; _secret_file.py writes a file,
# _background.py makes a process, _network_host.py sets addresses, _weights_files.py reads a model,
# _socket_tables.py the kernel's sockets.
TOUCHING = frozenset(
    f"_{name}.py"
    for name in (
        *("background", "engine", "local_api", "network_host", "probe", "secret_file"),
        *("socket_tables", "unpacked", "weights_files"),
        *("wire_ask", "wire_listen", "wire_probe", "wire_talk"),
    )
)
REACHING = (
    *("asyncio", "ftplib", "http", "io", "os", "pathlib", "pty", "select", "shutil", "signal"),
    *("socket", "socketserver", "ssl", "subprocess", "tempfile", "threading", "urllib.request"),
)
# Spelt in parts, or this file would be the first to be found.
FORBIDDEN = (
    "/" + "work/",
    "/" + "opt/wheels",
    "/" + "opt/pypi",
    "pypi" + ".org",
    "python" + "hosted.org",
    "debian" + ".org",
    "npmjs" + ".org",
)


def tracked() -> list[Path]:
    """Return the files of the repository, those not yet added included."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    files = [ROOT / name for name in listed.split("\0") if name]
    return sorted(file for file in files if file.is_file() and not file.is_symlink())


def licensed_elsewhere() -> tuple[str, ...]:
    """Return the patterns of REUSE.toml."""
    document = tomllib.loads((ROOT / "REUSE.toml").read_text(encoding="utf-8"))
    return tuple(pattern for entry in document["annotations"] for pattern in entry["path"])


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


FILES = tracked()
ROLES = sorted(folder for folder in (ROOT / "roles").iterdir() if folder.is_dir())
ADAPTERS = sorted(
    file for kind in ("modules", "filter", "action") for file in (PLUGINS / kind).glob("*.py")
)
# The other files that import Ansible.
ACTION_BASES = tuple((ROOT / "plugins" / "plugin_utils").glob("_*_action.py"))


def test_every_file_names_its_licence() -> None:
    # For fnmatch a star crosses folders.
    elsewhere = [pattern.replace("**/", "*") for pattern in licensed_elsewhere()]
    missing = []
    for file in FILES:
        path = name_of(file)
        if any(fnmatch(path, pattern) for pattern in (*elsewhere, "LICENSE", "LICENSES/*")):
            continue
        expected = "GPL-3.0-or-later" if file in (*ADAPTERS, *ACTION_BASES) else "Apache-2.0"
        head = file.read_text(encoding="utf-8").splitlines()[:5]
        tag = f"SPDX-License-Identifier: {expected}"
        if not any(line.rstrip(" ->").endswith(tag) for line in head):
            missing.append(f"{path}: {expected}")
    assert missing == []


@pytest.mark.parametrize("needle", FORBIDDEN)
def test_nothing_of_the_place_where_it_was_written(needle: str) -> None:
    found = [
        name_of(file)
        for file in FILES
        if needle in file.read_text(encoding="utf-8", errors="replace")
    ]
    assert found == []


@pytest.mark.parametrize("file", sorted((PLUGINS / "module_utils").glob("*.py")), ids=name_of)
def test_the_thinking_is_pure(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    foreign = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        else:
            continue
        for name in names:
            known = name.partition(".")[0] in sys.stdlib_module_names
            own = name.startswith(OWN_MODULE_UTILS)
            reaching = any(name == part or name.startswith(f"{part}.") for part in REACHING)
            if not (known or own) or (reaching and file.name not in TOUCHING):
                foreign.add(name)
    assert foreign == set()
    # Ansible ships these to hosts whose Python may be older.
    assert "from __future__ import annotations" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("file", ADAPTERS, ids=name_of)
def test_every_module_and_filter_has_a_test(file: Path) -> None:
    tests = ROOT / "tests" / "unit" / "plugins"
    # Actions that do nothing of their own are all tested with what they have in common.
    plain = "(_unpacked_action.UnpackedAction)" in file.read_text(encoding="utf-8")
    common = tests / "plugin_utils" / "test_unpacked_action.py"
    assert (common if plain else tests / file.parent.name / f"test_{file.name}").is_file()


@pytest.mark.parametrize("role", ROLES, ids=name_of)
def test_defaults_equal_the_argument_spec(role: Path) -> None:
    specs = load(role / "meta" / "argument_specs.yml")["argument_specs"]
    defaults = load(role / "defaults" / "main.yml") or {}
    options = [
        option for entry in specs.values() for option in (entry.get("options") or {}).items()
    ]
    stated = [(name, spec["default"]) for name, spec in options if "default" in spec]
    # An option may stand in several entry points, always with the same default.
    assert [(name, defaults.get(name, "absent")) for name, _ in stated] == stated
    assert sorted(defaults) == sorted(dict(stated))


@pytest.mark.parametrize("role", ROLES, ids=name_of)
def test_variables_carry_the_name_of_their_role(role: Path) -> None:
    specs = load(role / "meta" / "argument_specs.yml")["argument_specs"]
    names = {name for entry in specs.values() for name in entry.get("options") or {}}
    assert [name for name in sorted(names) if not name.startswith(f"{role.name}_")] == []


def load(file: Path) -> Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))
