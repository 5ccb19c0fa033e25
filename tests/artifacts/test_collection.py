# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The tarball of the collection holds what it must, nothing else, and works where only it is installed."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.artifacts.artifacts import ROOT, environment, output, run

CONTENTS = {
    *("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "LICENSES", "README.md", "bindep.txt"),
    *("FILES.json", "MANIFEST.json", "changelogs", "docs", "meta"),
    *("playbooks", "plugins", "roles"),
}
PLAYBOOKS = sorted(f"samewire.vllm.{file.stem}" for file in (ROOT / "playbooks").glob("*.yml"))
Ansible = Callable[..., subprocess.CompletedProcess[str]]
HOSTS = "ray_head: {hosts: {a: }}\nray_workers: {hosts: {b: }}\n"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(tmp_path_factory.mktemp("python"))


@pytest.fixture(scope="module")
def tarball(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    build = ("galaxy", "collection", "build", "--output-path", folder)
    output(python, "-m", "ansible", *build, cwd=ROOT)
    (file,) = folder.glob("samewire-vllm-*.tar.gz")
    return file


@pytest.fixture(scope="module")
def place(python: Path, tarball: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the collection into an empty folder, beside an inventory that lacks most."""
    folder = tmp_path_factory.mktemp("installed")
    install = ("galaxy", "collection", "install", "--offline", "--no-deps", "-p", folder, tarball)
    output(python, "-m", "ansible", *install, cwd=folder)
    (folder / "hosts.yml").write_text(HOSTS, encoding="utf-8")
    return folder


@pytest.fixture
def ansible(python: Path, place: Path) -> Ansible:
    """Return a function that runs one of Ansible's programs where the collection is installed."""
    env = {"ANSIBLE_COLLECTIONS_PATH": str(place)}
    return lambda *words: run(python, "-m", "ansible", *words, cwd=place, env=env)


def test_it_holds_what_it_must_and_nothing_else(tarball: Path) -> None:
    with tarfile.open(tarball) as opened:
        names = opened.getnames()
    assert {name.partition("/")[0] for name in names} == CONTENTS
    odd = ("__pycache__", ".pyc", ".tar.gz", ".egg-info", ".orig")
    assert [name for name in names if name.endswith(odd)] == []
    # What makes the site needs the whole repository.
    assert [name for name in names if name.startswith("docs/") and name.endswith(".py")] == []


@pytest.mark.parametrize(
    ("kind", "files"),
    [("module", "plugins/modules/*.py"), ("filter", "plugins/filter/*.py"), ("role", "roles/*")],
)
def test_ansible_doc_shows_all_of_it(kind: str, files: str, place: Path, ansible: Ansible) -> None:
    names = [f"samewire.vllm.{file.stem}" for file in sorted(ROOT.glob(files))]
    done = ansible("doc", "--type", kind, *names)
    assert done.returncode == 0, done.stderr
    # What it warns of beside that is its own.
    assert str(place) not in done.stderr
    shown = [line for line in done.stdout.splitlines() if line.startswith("> ")]
    assert len(shown) == len(names)
    assert [line for line in shown if f"({place}/" not in line] == []


def test_every_playbook_is_found_and_parses(place: Path, ansible: Ansible) -> None:
    done = ansible("playbook", "--inventory", "hosts.yml", "--syntax-check", *PLAYBOOKS)
    assert done.returncode == 0, done.stderr
    shown = [line.partition("playbook: ")[2] for line in done.stdout.splitlines() if line]
    folder = place / "ansible_collections/samewire/vllm/playbooks"
    assert shown == [str(folder / f"{name.rpartition('.')[2]}.yml") for name in PLAYBOOKS]


def test_a_playbook_judges_an_inventory(ansible: Ansible) -> None:
    done = ansible("playbook", "--inventory", "hosts.yml", "samewire.vllm.deploy")
    assert done.returncode != 0
    assert "a: variable vllm_server_model is not set, expected: The model" in done.stdout


def test_an_execution_environment_takes_it(python: Path, tarball: Path, tmp_path: Path) -> None:
    text = (ROOT / "execution-environment.yml").read_text(encoding="utf-8")
    definition = yaml.safe_load(text)
    (file,) = definition["additional_build_files"]
    assert Path(file["src"]).name == tarball.name
    assert definition["dependencies"]["galaxy"]["collections"][0]["name"] == tarball.name
    (tmp_path / "build").mkdir()
    (tmp_path / file["src"]).write_bytes(tarball.read_bytes())
    (tmp_path / "execution-environment.yml").write_text(text, encoding="utf-8")

    output(python, "-m", "ansible_builder", "create", cwd=tmp_path)

    made = tmp_path / "context" / "_build"
    assert (made / tarball.name).read_bytes() == tarball.read_bytes()
    assert tarball.name in (made / "requirements.yml").read_text(encoding="utf-8")


def test_an_execution_environment_has_an_ssh_client(python: Path, place: Path) -> None:
    said = output(python, "-m", "ansible_builder", "introspect", place, cwd=place)
    assert "openssh-clients [platform:rpm]" in said
