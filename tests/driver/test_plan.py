# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""The verbs plan and facts: what they print, what they exit with, what they refuse."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from samewire import cli, plan_command
from samewire.events import Progress
from samewire.run import Ended
from samewire.survey import Survey

FACTS = """\
cluster: pair
hosts:
  - name: spark0
    default_route_interface: enP7s7
    interfaces:
      - {name: enP7s7, state: up, type: ethernet, addresses: [10.1.230.180/24]}
      - {name: enp1s0f0np0, state: up, type: ethernet, mtu: 9000, addresses: [192.168.200.12/24]}
  - name: spark1
    default_route_interface: enP7s7
    interfaces:
      - {name: enP7s7, state: up, type: ethernet, addresses: [10.1.231.181/24]}
      - {name: enp1s0f1np1, state: up, type: ethernet, mtu: 1500, addresses: [%s]}
"""
TABLE = """\
Network    192.168.200.0/24, socket, MTU 1500
           because it is the only usable network in which every host has an address

HOST    ADDRESS         INTERFACE    HCAS
spark0  192.168.200.12  enp1s0f0np0  -
spark1  192.168.200.13  enp1s0f1np1  -

NOT CHOSEN ON  WHAT    ADDRESS       BECAUSE
spark0         enP7s7  10.1.230.180  10.1.230.0/24 does not join all hosts
spark1         enP7s7  10.1.231.181  10.1.231.0/24 does not join all hosts

Warning    the interconnect has different MTUs (spark0 9000, spark1 1500); make them equal (mtu_mismatch)
"""


def call(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli.app, arguments, catch_exceptions=False)
    return result.exit_code, result.output


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    file = tmp_path / "pair.yml"
    file.write_text(FACTS % "192.168.200.13/24", encoding="utf-8")
    return file


def test_plan_for_people(facts: Path) -> None:
    assert call("plan", "--facts", str(facts)) == (0, TABLE)


def test_plan_for_programs(facts: Path) -> None:
    code, text = call("plan", "--facts", str(facts), "--json")
    plan = json.loads(text)
    assert (code, plan["schema"], plan["cluster"]) == (0, "samewire.plan/1", "pair")
    assert plan["hosts"]["spark1"]["address"] == "192.168.200.13"


def test_no_plan(facts: Path) -> None:
    facts.write_text(FACTS % "192.168.201.13/24", encoding="utf-8")
    code, text = call("plan", "--facts", str(facts), "--json")
    error = json.loads(text)["error"]
    assert (code, error["code"]) == (3, "no_common_subnet")
    assert call("plan", "--facts", str(facts)) == (3, error["message"] + "\n")


def test_a_pin_to_a_network_that_no_host_has(facts: Path) -> None:
    facts.write_text(
        "interconnect_network: 10.9.9.0/24\n" + FACTS % "192.168.200.13/24", encoding="utf-8"
    )
    code, text = call("plan", "--facts", str(facts))
    assert (code, text) == (
        2,
        "interconnect_network is 10.9.9.0/24, but spark0 has no usable address in it (it has "
        "10.1.230.180/24 on enP7s7, 192.168.200.12/24 on enp1s0f0np0); give it one, or set another "
        "network.\n",
    )


@pytest.mark.parametrize("arguments", [[], ["-i", "lab", "--facts", "FILE"]], ids=["none", "both"])
def test_either_an_inventory_or_facts(arguments: list[str], facts: Path) -> None:
    code, text = call("plan", *(str(facts) if each == "FILE" else each for each in arguments))
    assert (code, text.splitlines()[-1]) == (
        2,
        "Error: Invalid value: expected one of --inventory and --facts",
    )


def test_a_page_that_cannot_be_written(facts: Path) -> None:
    code, text = call("plan", "--facts", str(facts), "--html", "/nowhere/plan.html")
    assert (code, text.splitlines()[-1]) == (
        2,
        "Error: Invalid value: /nowhere/plan.html cannot be written: No such file or directory",
    )


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Any], list[str]]:
    """Return a function that lets the hosts say what it is given; the playbooks that ran come back."""

    def say(said: Any) -> list[str]:
        ran: list[str] = []

        def survey(playbook: str, inventory: Path, watch: Any) -> Survey:
            ran.append(playbook)
            artifacts = {} if said is None else {"samewire_facts": said}
            status = "failed" if said is None else "successful"
            progress = Progress(artifacts=artifacts, complaints=("a host is gone",))
            return Survey("pair", Ended(progress, status, ""), 1.0, tmp_path / "log")

        monkeypatch.setattr(plan_command, "survey", survey)
        return ran

    return say


SAID = {
    "cluster": "pair",
    "head": "spark0",
    "network": "",
    "environments": {"spark0": {"NCCL_DEBUG": "INFO", "HF_TOKEN": "hf_secret"}, "spark1": {}},
    "interfaces": {"spark0": "", "spark1": "enp1s0f1np1"},
    "facts": {
        f"spark{number}": {
            "interfaces": [
                {
                    "name": f"enp1s0f{number}np{number}",
                    "state": "up",
                    "type": "ethernet",
                    "addresses": [f"192.168.200.1{number}/24", f"fe80::42:acff:fe11:{number}/64"],
                },
                {"name": "enxb03af2b6059f", "type": "usb", "state": "up", "addresses": []},
            ],
            "rdma": [
                {
                    "device": "mlx5_0",
                    "netdev": f"enp1s0f{number}np{number}",
                    "link_layer": "Ethernet",
                    "gids": [[0, "RoCE v2", f"fe80::42:acff:fe11:{number}"]],
                }
            ],
            "absent": {"gpus": "no device of b0:3a:f2:b6:05:9f"},
        }
        for number in (0, 1)
    },
}


def test_plan_of_an_inventory(asked: Callable[[Any], list[str]]) -> None:
    ran = asked(SAID)
    code, text = call("plan", "-i", "lab", "--json")
    assert (code, ran) == (0, ["samewire.vllm.plan"])
    plan = json.loads(text)
    assert plan["hosts"]["spark1"]["address"] == "192.168.200.11"
    assert (
        plan["network"]["chosen_because"][0] == "interconnect_interface is set: spark1 enp1s0f1np1"
    )


def test_overrides_are_listed(asked: Callable[[Any], list[str]], tmp_path: Path) -> None:
    asked(SAID)
    lines = call("plan", "-i", "lab")[1].splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("OVERRIDDEN"))
    assert lines[start : start + 3] == [
        "OVERRIDDEN ON  VARIABLE    VALUE        INSTEAD OF",
        "spark0         HF_TOKEN    (not shown)  -",
        "spark0         NCCL_DEBUG  INFO         -",
    ]
    page = tmp_path / "plan.html"
    code, text = call("plan", "-i", "lab", "--json", "--html", str(page))
    assert code == 0
    assert json.loads(text[: text.rindex("}") + 1])["hosts"]["spark0"]["overrides"] == [
        {"variable": "HF_TOKEN", "value": "(not shown)", "instead_of": None},
        {"variable": "NCCL_DEBUG", "value": "INFO", "instead_of": None},
    ]
    assert '<td>spark0</td><td class="name">NCCL_DEBUG</td>' in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("variable", "value", "needed"),
    [
        ("GLOO_SOCKET_IFNAME", "enP7s7", "'enp1s0f0np0'"),
        ("RAY_ADDRESS", "10.1.230.180:6379", "'192.168.200.10:6379'"),
    ],
)
def test_an_override_that_breaks_the_plan(
    asked: Callable[[Any], list[str]], variable: str, value: str, needed: str
) -> None:
    asked({**SAID, "environments": {"spark0": {variable: value}, "spark1": {}}})
    assert call("plan", "-i", "lab") == (
        3,
        f"spark0: the environment sets {variable}={value!r}, but the plan needs {needed} so that every layer "
        "uses the same wire; remove the override, or pin interconnect_network or interconnect_interface if "
        "the plan is wrong.\n",
    )


def test_facts_leave_out_what_tells_a_device(
    asked: Callable[[Any], list[str]], tmp_path: Path
) -> None:
    file = tmp_path / "facts.json"
    ran = asked(SAID)
    assert call("facts", "-i", "lab", "--save", str(file)) == (
        0,
        f"The facts of 2 hosts are in {file}.\n",
    )
    assert ran == ["samewire.vllm.facts"]
    saved = file.read_text(encoding="utf-8")
    for trace in ("b03af2b6059f", "b0:3a:f2", "acff:fe11", "hf_secret"):
        assert trace not in saved
    first, second = json.loads(saved)["hosts"]
    # The same device has the same stand-in everywhere, others have others.
    own = first["interfaces"][0]["addresses"][1].partition("/")[0]
    assert own == first["rdma"][0]["gids"][0][2]
    assert own != second["rdma"][0]["gids"][0][2]
    assert call("plan", "--facts", str(file))[0] == 0


def test_hosts_that_cannot_be_asked(asked: Callable[[Any], list[str]], tmp_path: Path) -> None:
    asked(None)
    code, text = call("facts", "-i", "lab", "--save", str(tmp_path / "facts.json"))
    assert code == 3
    assert text.splitlines()[0] == "a host is gone"
    assert not (tmp_path / "facts.json").exists()
