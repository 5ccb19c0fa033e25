# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The verb init: what it writes, that a deployment would take it, and what it refuses."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ansible_collections.samewire.vllm.plugins.filter.desired_state import desired_state
from samewire import cli, init, init_command, init_files, inventory, locate
from samewire.events import Progress
from samewire.run import Ended
from samewire.survey import Survey, survey

HEAD = ("--head", "spark0=10.1.230.180")
PAIR = (*HEAD, "--worker", "spark1=10.1.230.181")
REST = ("--model", "Qwen/Qwen3-32B", "--image", "vllm/vllm-openai:v0.17.1")
GB10 = {"name": "NVIDIA GB10", "memory": 1 << 37, "capability": 12.1, "shared": True}


def said(*networks: str) -> dict[str, Any]:
    """Return what two hosts with a GPU each and these networks say, with RDMA in the first."""
    return {
        "cluster": "mine",
        "head": "spark0",
        "network": "",
        "environments": {"spark0": {}, "spark1": {}},
        "interfaces": {"spark0": "", "spark1": ""},
        "facts": {
            f"spark{number}": {
                "interfaces": [
                    {
                        "name": f"enp{index}s0",
                        "state": "up",
                        "type": "ethernet",
                        "mtu": 9000,
                        "addresses": [f"{network}.1{number}/24"],
                    }
                    for index, network in enumerate(networks)
                ],
                "rdma": [
                    {
                        "device": "mlx5_0",
                        "port": 1,
                        "state": "Active",
                        "link_layer": "Ethernet",
                        "netdev": "enp0s0",
                        "rate_gbps": 200,
                    }
                ],
                "gpus": [{"pci": "000f:01:00.0"}],
                "default_route_interface": "enp0s0",
            }
            for number in (0, 1)
        },
    }


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which all happens."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., list[str]]:
    """Return a function that lets the hosts say what it is given; the inventories asked come back."""

    def say(answer: Any) -> list[str]:
        seen: list[str] = []

        def asked(playbook: str, folder: Path, watch: Any) -> Survey:
            seen.append(f"{playbook} {(folder / 'hosts.yml').read_text(encoding='utf-8')}")
            gpus = {"spark0": [GB10], "spark1": [GB10]}
            artifacts = {"samewire_facts": answer, "samewire_gpus": gpus} if answer else {}
            progress = Progress(artifacts=artifacts, complaints=("a host is gone",))
            ended = Ended(progress, "successful" if answer else "failed", "")
            return Survey("mine", ended, 1.0, tmp_path / "log")

        monkeypatch.setattr(init_command, "survey", asked)
        return seen

    return say


def call(*arguments: str, typed: str | None = None) -> tuple[int, str]:
    done = CliRunner().invoke(cli.app, ["init", *arguments], input=typed, catch_exceptions=False)
    return done.exit_code, done.output


def text(folder: Path) -> str:
    """Return all files of an inventory, each after its path."""
    files = sorted(folder.rglob("*.yml"), key=lambda file: (file.name != "hosts.yml", file))
    return "".join(
        f"{file.relative_to(folder)}\n{file.read_text(encoding='utf-8')}" for file in files
    )


def problems(folder: Path) -> list[str]:
    """Return what a deployment refuses an inventory for, read as Ansible reads it."""
    found = inventory.read(folder, locate.collection(), {})
    head, *workers = found.hosts
    return list(desired_state(found.hosts, [head], workers, list(init.REQUIRED))["problems"])


WRITTEN = """\
hosts.yml
# How ssh reaches the hosts, over any network; the interconnect is found, not written.
ray_head: # one host, which also runs the API
  hosts:
    spark0: {ansible_host: 10.1.230.180} # the address for ssh
ray_workers: # the others add their GPUs
  hosts:
    spark1: {ansible_host: 10.1.230.181} # the address for ssh
group_vars/all/cluster.yml
cluster_name: mine # begins the names of containers and files
container_image_name: vllm/vllm-openai:v0.17.1 # has vLLM, and Ray unless you do without
# Found, so not written: network 192.168.200.0/24 (rdma, MTU 9000), because it is the only usable network in
#   which every host has an address.
# Found, so not written: hardware_preset dgx-spark on spark0, spark1, since CPU and GPU share one memory
#   (NVIDIA GB10).
group_vars/all/connection.yml
ansible_user: ops # the account: root, or one that may use Docker
group_vars/all/model.yml
vllm_server_model: Qwen/Qwen3-32B # of the hub; downloaded once
vllm_server_tensor_parallel_size: 2 # RDMA joins 2 hosts with a GPU each
"""


def test_what_is_written_and_why(asked: Any, home: Path) -> None:
    seen = asked(said("192.168.200"))
    code, out = call("new/mine", *PAIR, *REST, "--user", "ops")
    assert (code, out.splitlines()[-5:]) == (
        0,
        [
            "Wrote new/mine/hosts.yml, 7 lines.",
            "Wrote new/mine/group_vars/all/connection.yml, 1 lines.",
            "Wrote new/mine/group_vars/all/cluster.yml, 6 lines.",
            "Wrote new/mine/group_vars/all/model.yml, 2 lines.",
            "Next: samewire plan -i new/mine, then samewire deploy -i new/mine.",
        ],
    )
    assert seen[0].startswith("samewire.vllm.init # How ssh reaches the hosts")
    assert text(home / "new" / "mine") == WRITTEN
    assert problems(home / "new" / "mine") == []
    assert [path.name for path in (home / "new").iterdir()] == ["mine"]


def test_written_for_programs(asked: Any) -> None:
    asked(said("192.168.200"))
    code, out = call("mine", *PAIR, *REST, "--json")
    document = json.loads(out[out.index("{\n") :])
    assert (code, document["schema"], list(document["files"])) == (
        0,
        "samewire.init/1",
        ["hosts.yml", "group_vars/all/cluster.yml", "group_vars/all/model.yml"],
    )
    assert document["plan"]["network"]["cidr"] == "192.168.200.0/24"


def test_written_without_looking(home: Path) -> None:
    code, _ = call("mine", *PAIR, *REST, "--offline")
    written = text(home / "mine")
    assert (code, problems(home / "mine")) == (0, [])
    assert "# Nothing was asked of the hosts; samewire plan says what they will use." in written
    assert (
        "vllm_server_pipeline_parallel_size: 2 # a stage a host, as if each had one GPU" in written
    )


def test_the_playbook_hands_over_what_a_host_says(home: Path) -> None:
    own = {
        "cluster_name": "mine",
        "container_image_name": "nobody.invalid/none",
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
    }
    hosts = {"ray_head": {"hosts": {"spark0": own}}}
    (home / "hosts.yml").write_text(json.dumps(hosts), encoding="utf-8")
    asked = survey(init_command.PLAYBOOK, home / "hosts.yml", lambda *_: None)
    assert asked.document, asked.ended.output
    assert asked.document["hosts"][0]["interfaces"]
    assert list(asked.ended.progress.artifacts[init_command.GPUS_ARTIFACT]) == ["spark0"]


def test_hosts_that_cannot_be_reached(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ssh = home / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text("#!/bin/sh\necho 'No route to host' >&2\nexit 255\n", encoding="utf-8")
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}{os.pathsep}{os.environ['PATH']}")
    code, out = call("mine", *HEAD, *REST)
    assert code == 4
    assert "spark0: cannot be reached over SSH at 10.1.230.180 (No route to host); check" in out
    assert (
        out.splitlines()[-1]
        == "Nothing was written; --offline writes without looking at the hosts."
    )
    assert not (home / "mine").exists()


def test_hosts_without_a_common_network(asked: Any, home: Path) -> None:
    answer = said("192.168.200")
    answer["facts"]["spark1"]["interfaces"][0]["addresses"] = ["10.9.9.9/24"]
    asked(answer)
    code, out = call("mine", *PAIR, *REST)
    assert (code, out.splitlines()[-1]) == (
        3,
        "Nothing was written; --network pins a network, --offline writes without looking.",
    )
    assert "spark1" in out.splitlines()[-2]
    assert not (home / "mine").exists()


def test_nothing_is_overwritten(home: Path) -> None:
    (home / "mine").mkdir()
    assert call("mine", *PAIR, *REST) == (
        3,
        "mine exists: expected a folder that is still to be made, as nothing is overwritten; give another "
        "one, or remove it.\n",
    )


def test_a_folder_that_cannot_be_written(home: Path) -> None:
    (home / "file").touch()
    code, out = call("file/mine", *PAIR, *REST, "--offline")
    assert (code, out.splitlines()[-1]) == (
        2,
        "Error: Invalid value for FOLDER: file/mine cannot be written: File exists",
    )


@pytest.mark.parametrize(
    ("given", "missing"),
    [((), "--head"), ((*HEAD, "--model", "m"), "--image"), ((*HEAD, "--image", "i"), "--model")],
)
def test_what_cannot_be_asked_for(given: tuple[str, ...], missing: str) -> None:
    code, out = call("mine", *given)
    assert (code, out.splitlines()[-1]) == (
        2,
        f"Error: Invalid value for '{missing}': expected a value where nothing can be asked, got none; "
        f"add {missing}",
    )


NO_NAME = (
    "is no name for a host, expected a letter or a digit, then letters, digits, '_', '.' and '-'; give its "
    "address behind it, as spark0=10.1.230.180\n"
)
PLAIN = "expected plain text, as '{{', '{%' and '{#' begin a template; correct it\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--head", "$(id)"), f"'$(id)': {NO_NAME}"),
        (("--head", "a'b"), f'"a\'b": {NO_NAME}'),
        (("--head", "a\nb"), f"'a\\nb': {NO_NAME}"),
        (("--head", "gpu:0"), f"'gpu:0': {NO_NAME}"),
        (("--head", "=10.0.0.1"), f"'': {NO_NAME}"),
        (
            ("--head", "a=-oProxyCommand=id"),
            "a: its address is '-oProxyCommand=id', expected one of IPv4 or IPv6, or a name that ssh knows; "
            "correct it\n",
        ),
        (
            (*PAIR, "--worker", "spark1"),
            "spark1: is named 2 times, expected each host once; leave out the others\n",
        ),
        (
            (*HEAD, "--user", "-l root"),
            "variable ansible_user is '-l root', expected the name of an account; correct it\n",
        ),
        (
            (*HEAD, "--network", "fast"),
            "variable interconnect_network is 'fast', expected a network as 192.168.200.0/24; correct it\n",
        ),
        (
            (*HEAD, "--name", "../out"),
            "variable cluster_name is '../out', expected a letter or a digit, then letters, digits, '_', '.' "
            "and '-', at most 63 in all; correct it\n",
        ),
        (
            (*HEAD, "--model", "{{ lookup('pipe', 'id') }}"),
            f"variable vllm_server_model is \"{{{{ lookup('pipe', 'id') }}}}\", {PLAIN}",
        ),
        (
            (*HEAD, "--model", "/models/a\nb: c"),
            "variable vllm_server_model is '/models/a\\nb: c', expected a model of the hub, or an absolute "
            "path, or one that begins with '~', without ':', '..' and control characters; correct it\n",
        ),
        (
            (*HEAD, "--image", "$(id)"),
            "variable container_image_name is '$(id)', expected a reference of an image, as "
            "registry/name:tag; correct it\n",
        ),
    ],
)
def test_answers_that_cannot_be(arguments: tuple[str, ...], message: str, home: Path) -> None:
    rest = [
        each
        for pair in zip(REST[::2], REST[1::2], strict=True)
        if pair[0] not in arguments
        for each in pair
    ]
    # The judgement of variables may add a sentence where a template is no reference either.
    code, out = call("mine", *arguments, *rest, "--offline")
    assert (code, out.partition("\n")[0] + "\n") == (3, message)
    assert not (home / "mine").exists()


@pytest.mark.parametrize("model", ["/models/$(id) #1", "/models/'a' \"b\"", "yes", "a/b: c"])
def test_values_arrive_as_they_are(model: str, home: Path) -> None:
    code, out = call(
        "mine", "--head", "yes", "--worker", "123", "--image", "a/b", "--model", model, "--offline"
    )
    assert code == 0, out
    found = inventory.read(home / "mine", locate.collection(), {})
    assert (list(found.hosts), found.hosts["yes"]["vllm_server_model"]) == (["yes", "123"], model)
    assert problems(home / "mine") == []


def test_a_reason_cannot_leave_its_comment() -> None:
    member = init.Member("spark0")
    answers = init.Answers("mine", member, (), "image", "model")
    plan = {
        "transport": "socket",
        "network": {"cidr": None, "mtu": None, "chosen_because": ["x\nansible_user: root\x85a: b"]},
    }
    files = init_files.render(answers, init.Found(plan, None, (), asked=True))
    lines = files["group_vars/all/cluster.yml"].splitlines()
    assert [
        line
        for line in lines
        if not line.startswith(("cluster_name:", "container_image_name:", "#"))
    ] == []


def test_questions(asked: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked(said("192.168.200"))
    monkeypatch.setattr(init_command, "has_terminal", lambda: True)
    answers = [
        *("sp ark", "spark0=10.1.230.180", "spark1=10.1.230.181", "", "ops", ""),
        *("vllm/vllm-openai:v0.17.1", "Qwen/Qwen3-32B", "y"),
    ]
    code, out = call("mine", typed="\n".join(answers) + "\n")
    assert code == 0, out
    assert f"Error: 'sp ark': {NO_NAME}" in out
    assert "Name of the cluster [mine]:" in out
    assert text(home / "mine") == WRITTEN


def test_questions_that_are_not_answered(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(init_command, "has_terminal", lambda: True)
    assert call("mine", typed="spark0\n")[0] == 130
    code, out = call("mine", *HEAD, *REST, "--user", "", "--offline", typed="mine\nn\n")
    assert (code, out.splitlines()[-1]) == (3, "mine is not written.")
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("option", ["--yes", "--json"])
def test_no_questions(option: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(init_command, "has_terminal", lambda: True)
    code, out = call("mine", option, typed="spark0\n")
    assert (code, out.splitlines()[-1].partition(":")[2]) == (
        2,
        " Invalid value for '--head': expected a value where nothing can be asked, got none; add --head",
    )
