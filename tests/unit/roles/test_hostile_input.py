# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""Values that somebody hopes will be executed: each is refused in one sentence, or arrives as it is."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from ansible_collections.samewire.vllm.plugins.filter.desired_state import desired_state
from ansible_collections.samewire.vllm.plugins.filter.node_container import node_container
from tests.unit.plans import plan

ROLES = pathlib.Path(__file__).parents[3] / "roles"
RUN = ROLES / "ray_node/files/node/run.sh"
MARK = "{mark}"
# MARK stands for a file that is there once any of them was executed.
HOSTILE = {
    "command substitution": "$(touch {mark})",
    "backquotes": "`touch {mark}`",
    "a command after a semicolon": "x; touch {mark}",
    "a command after and": "x && touch {mark}",
    "a pipe": "x | touch {mark}",
    "a redirection": "x > {mark}",
    "double quotes closed": '"; touch {mark}; "',
    "single quotes closed": "'; touch {mark}; '",
    "a lone quote": "'",
    "a lone double quote": '"',
    "a variable": "$HOME",
    "a variable in braces": "${IFS}",
    "arithmetic": "$((1+1))",
    "a glob": "*",
    "a glob of everything": "/*",
    "a tilde": "~root",
    "a space": "two words",
    "spaces at the ends": "  x  ",
    "nothing but a space": " ",
    "a tab": "a\tb",
    "a line break": "a\ntouch {mark}",
    "a return": "a\rb",
    "a header": "x\r\nX-Injected: 1",
    "an escape of the terminal": "\x1b[2Jx",
    "a NUL": "a\0b",
    "a separator of lines": "a\u2028b",
    "right to left": "a\u202eb",
    "other letters": "模型-ñ-😀",
    "half a character": "\ud800",
    "Jinja": "{{ lookup('pipe', 'touch {mark}') }}",
    "Jinja's block": "{% for x in ().__class__.__mro__ %}{{ x }}{% endfor %}",
    "Jinja's comment": "{# x #}",
    "a path upwards": "../../../../etc",
    "an absolute path": "/etc/passwd",
    "a path upwards in the middle": "/models/../etc",
    "a second mount": "/etc:/etc:rw",
    "an option": "--privileged",
    "a lone dash": "-",
    "YAML": "!!python/object/apply:os.system ['touch {mark}']",
    "a backslash": "\\",
    "a percent": "%s%n%h",
    "very long": "x" * 200_000,
}


def inventory(variable: str, value: Any) -> dict[str, Any]:
    return {"container_image_name": "vllm:1", "vllm_server_model": "/models/tiny", variable: value}


def refused_or_kept(variable: str, value: Any) -> Any:
    """Return the setting that a value becomes, or None where one sentence refuses it."""
    found = desired_state({"node0": inventory(variable, value)}, ["node0"], [])
    if found["problems"]:
        (sentence,) = found["problems"]
        assert sentence.startswith(f"node0: variable {variable} is ")
        assert sentence.endswith("; correct it in the inventory")
        assert sentence.isprintable()
        assert len(sentence) < 400
        return None
    return found["settings"]["node0"][variable]


@pytest.fixture
def mark(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "executed"


@pytest.fixture(params=HOSTILE.values(), ids=HOSTILE)
def hostile(request: pytest.FixtureRequest, mark: pathlib.Path) -> str:
    return str(request.param).replace(MARK, str(mark))


def arrived(tmp_path: pathlib.Path, argv: list[str], environment: dict[str, str]) -> Any:
    """Run the entry point with an argv and variables; return those that its program finds."""
    programs = tmp_path / "bin"
    programs.mkdir()
    says = f"#!{sys.executable}\nimport json, os, sys\nprint(json.dumps([sys.argv[1:], dict(os.environ)]))\n"
    for name in ("ray", "vllm"):
        (programs / name).write_text(says)
        (programs / name).chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", str(RUN), *argv],
        env={**environment, "PATH": f"{programs}:/usr/bin:/bin"},
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)


def rendered(variables: dict[str, Any]) -> dict[str, Any]:
    """Return options and command of the Ray container, as the role's own template makes them."""
    settings = {
        "cluster": "pair",
        "head": "spark0",
        "image": "vllm:1",
        "model": "/models/tiny",
        "directory": "~/.samewire",
        "port": 6379,
        "gpus": 0,
        "gpu_access": "none",
        "hub_cache": "~/.cache/huggingface",
        "programs": "",
        "environment": {},
        "mounts": [],
    }
    extra = variables.pop("extra_args", [])
    return node_container(plan("socket"), "spark0", {**settings, **variables}, extra)


def test_a_value_of_a_variable(hostile: str, tmp_path: pathlib.Path, mark: pathlib.Path) -> None:
    kept = refused_or_kept("ray_node_environment", {"USER_VALUE": hostile})
    if kept is None:
        assert "\0" in hostile or "\ud800" in hostile or len(hostile) > 100_000
        return
    found = rendered({"environment": kept})
    environment = found["options"]["env"]
    assert environment["USER_VALUE"] == hostile
    _, seen = arrived(tmp_path, found["ray_command"], environment)
    assert seen["USER_VALUE"] == hostile
    assert not mark.exists()


def test_a_name_of_a_variable(hostile: str) -> None:
    assert refused_or_kept("ray_node_environment", {hostile: "x"}) is None


def test_an_argument_of_ray(hostile: str, tmp_path: pathlib.Path, mark: pathlib.Path) -> None:
    kept = refused_or_kept("ray_node_extra_args", [hostile])
    if kept is None:
        assert "\0" in hostile or "\ud800" in hostile or len(hostile) > 100_000
        return
    found = rendered({"extra_args": kept})
    argv, _ = arrived(tmp_path, found["ray_command"], found["options"]["env"])
    assert argv == [*found["ray_command"][1:-1], hostile]
    assert not mark.exists()


MODELS = ("vllm_server_model", "vllm_server_served_model_name")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], list[str]]:
    """Return the command of the vLLM container for each value that is not refused, as the role templates it.

    The values come from a file that is read, as what a host says does: no template to Ansible.
    """
    folder = tmp_path_factory.mktemp("served")
    cases = [
        (variable, text)
        for variable in MODELS
        for text in HOSTILE.values()
        if refused_or_kept(variable, text) is not None
    ]
    files = {
        "cases.json": [{**MODEL, variable: text} for variable, text in cases],
        "play.yml": [PLAY],
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    subprocess.run(
        [sys.executable, "-m", "ansible", "playbook", "-i", "spark0,", "play.yml"],
        cwd=folder,
        env={
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(ROLES.parent / "collections"),
            "ANSIBLE_LOCALHOST_WARNING": "false",
        },
        check=True,
        capture_output=True,
    )
    assert sorted(path.name for path in folder.iterdir()) == [
        "cases.json",
        "commands.json",
        "play.yml",
    ]
    commands = json.loads((folder / "commands.json").read_text())
    return dict(zip(cases, commands, strict=True))


MODEL = {"vllm_server_model": "/models/tiny", "vllm_server_served_model_name": ""}
PLAY = {
    "hosts": "spark0",
    "connection": "local",
    "gather_facts": False,
    "vars_files": [
        str(ROLES / "vllm_server/defaults/main.yml"),
        str(ROLES / "vllm_server/vars/main.yml"),
    ],
    "vars": {
        "ansible_python_interpreter": sys.executable,
        "vllm_server_plan": plan("socket"),
        "vllm_server_gpus": {"spark0": 1, "spark1": 1},
        "vllm_server_head": "spark0",
        "vllm_server_chosen_executor": "ray",
    },
    "tasks": [
        {
            "ansible.builtin.set_fact": {
                "commands": "{{ commands | default([]) + [__vllm_server_command] }}"
            },
            "vars": {name: f"{{{{ item.{name} }}}}" for name in MODEL},
            "loop": "{{ lookup('ansible.builtin.file', 'cases.json') | from_json }}",
        },
        {
            "ansible.builtin.copy": {
                "content": "{{ commands | to_json }}",
                "dest": "{{ playbook_dir }}/commands.json",
                "mode": "0600",
            }
        },
    ],
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("variable", MODELS)
def test_a_model(
    variable: str, text: str, served: dict[tuple[str, str], list[str]], tmp_path: pathlib.Path
) -> None:
    command = served.get((variable, text))
    if command is None:
        assert refused_or_kept(variable, text) is None
        return
    argv, _ = arrived(tmp_path, command[command.index("vllm") :], {})
    assert text in argv
    # Here the mark is a file of the working directory.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin"]
    if variable == "vllm_server_model" and text.startswith("/"):
        assert f"{text}:{text}:ro" in rendered({"model": text})["options"]["volumes"]


@pytest.mark.parametrize(
    "variable",
    ["ray_node_directory", "ray_node_hub_cache", "container_image_name", "vllm_server_host"],
)
def test_a_part_of_a_mount_or_an_address(variable: str, hostile: str) -> None:
    kept = refused_or_kept(variable, hostile)
    if kept is not None:
        assert kept == hostile
        assert not {":", "\n", "\0"} & set(hostile)
        assert ".." not in hostile


@pytest.mark.parametrize(
    "variable", ["vllm_server_api_key", "vllm_server_hf_token", "ray_node_auth_token"]
)
def test_a_secret_is_a_header_or_is_refused_unseen(variable: str, hostile: str) -> None:
    found = desired_state({"node0": inventory(variable, hostile)}, ["node0"], [])
    fit = (
        hostile.isascii()
        and hostile.isprintable()
        and " " not in hostile
        and len(hostile) < 100_000
    )
    if fit:
        assert found["problems"] == []
    else:
        (sentence,) = found["problems"]
        assert sentence.startswith(f"node0: variable {variable} is '(a secret)', expected ")


def test_a_mount(hostile: str) -> None:
    kept = refused_or_kept("ray_node_mounts", [hostile])
    assert kept is None or kept == ["/etc:/etc:rw"] == [hostile]


def test_the_name_of_the_cluster(hostile: str) -> None:
    assert refused_or_kept("cluster_name", hostile) is None


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("vllm_server_extra_args", ["--api-key=c0ffee"]),
        ("vllm_server_extra_args", ["--api_key", "c0ffee"]),
        ("vllm_server_extra_args", ["--hf-token", "c0ffee"]),
        ("ray_node_environment", {"NESTED": {"a": 1}}),
        ("ray_node_port", 0),
        ("vllm_server_port", 65536),
    ],
)
def test_what_else_cannot_be_meant(variable: str, value: Any) -> None:
    assert refused_or_kept(variable, value) is None


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("cluster_name", "dgx-spark_pair.2"),
        ("container_image_name", "[fd00::1]:5000/Team/vllm@sha256:" + "0" * 64),
        ("ray_node_directory", "~/my files/.samewire"),
        ("ray_node_mounts", ["models:/models", "/data:/data:ro,z"]),
        ("ray_node_environment", {"NCCL_DEBUG": "INFO", "N": 1, "FLAG": True}),
        ("vllm_server_extra_args", ["--max-model-len=256", "--api-server-count", "2"]),
        ("vllm_server_host", "fd00::1"),
        ("vllm_server_model", "Qwen/Qwen3.5-122B-A10B-FP8"),
        ("vllm_server_model", "s3://bucket/model"),
        ("vllm_server_port", 443),
    ],
)
def test_what_people_write(variable: str, value: Any) -> None:
    assert refused_or_kept(variable, value) == value


def test_the_name_of_a_host(hostile: str) -> None:
    found = desired_state({hostile: inventory("cluster_name", "pair")}, [hostile], [])
    (sentence,) = found["problems"]
    assert sentence.endswith("rename it in the inventory and keep its address in ansible_host")
    assert sentence.isprintable()
