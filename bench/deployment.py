# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What a deployment costs on the lab, beside what nobody can do without.

| measure | over |
|---|---|
| a deployment from nothing, with a completion | bench/by_hand.sh, the least that gives one |
| a deployment that changes nothing | `ansible all -m ping` on the same hosts |
| the facts of the interconnect | Ansible's own facts of the network |
| right answers after vLLM was killed | the same after its container was started anew |
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.ratio import Measure, Side
from samewire import api
from samewire_lab.waiting import wait_for

ROOT = Path(__file__).parents[1]
INVENTORY = "inventories/lab"
BY_HAND = str(ROOT / "bench/by_hand.sh")
WITHOUT_FACTS = "gather_subset=!all,!min,network"
PATIENCE = 300


def run(*command: str) -> str:
    """Run a program of this environment, and return what it printed; end the benchmark where it fails."""
    paths = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    collections = {"ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections")}
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        text=True,
        cwd=ROOT,
        env={**os.environ, **collections, "PATH": paths},
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-4000:]}")
    return done.stdout


def ansible(module: str, *arguments: str) -> Callable[[], None]:
    """Return what runs one module on all hosts."""

    def work() -> None:
        run("ansible", "-i", INVENTORY, "all", "-m", module, *arguments)

    return work


def deploy() -> None:
    run("ansible-playbook", "-i", INVENTORY, "deploy.yml")


def by_hand() -> None:
    run(BY_HAND, "up")


def clean() -> None:
    """Leave neither cluster on the hosts."""
    run(BY_HAND, "down")
    run("samewire", "teardown", "-i", INVENTORY, "--yes")


def _answers(deployed: api.Api) -> bool:
    """Whether the cluster gives the completion of its record."""
    known = deployed.deployed
    body = {"model": known.model, "prompt": known.prompt, "max_tokens": 16, "temperature": 0}
    try:
        said = deployed.post(known.endpoints["completions"], body, timeout=10).json()
    except api.ApiError:
        return False
    return bool(said["choices"][0]["text"] == known.text)


def _until_it_answers() -> None:
    deployed = api.of(ROOT / INVENTORY, None)
    wait_for(lambda: _answers(deployed), PATIENCE, "no right answer")


def _on_the_head(command: str) -> None:
    run("ansible", "-i", INVENTORY, "ray_head", "-m", "ansible.builtin.shell", "-a", command)


def killed() -> None:
    """Kill vLLM as a crash does, and wait for right answers."""
    _on_the_head("kill -9 $(docker inspect --format '{{ '{{' }}.State.Pid{{ '}}' }}' lab-vllm)")
    _until_it_answers()


def started_anew() -> None:
    """Start its container anew, and wait for right answers: what the engine itself takes."""
    _on_the_head("docker restart --time 0 lab-vllm")
    _until_it_answers()


def calm() -> None:
    """Forget the starts of before, or a restart in a row would wait longer each time."""
    _on_the_head("docker exec lab-vllm rm -f /tmp/samewire-starts.json")
    _until_it_answers()


MEASURES: Mapping[str, Measure] = {
    "overhead": Measure(
        "from nothing to a completion",
        Side("deploy.yml", deploy, clean),
        Side("by hand", by_hand, clean),
        goal=1.10,
        end=clean,
    ),
    "change": Measure(
        "no change",
        Side("deploy.yml", deploy, deploy),
        Side("ping", ansible("ping"), ansible("ping")),
        goal=8,
    ),
    "facts": Measure(
        "facts",
        Side("interconnect_info", ansible("samewire.vllm.interconnect_info")),
        Side("setup", ansible("ansible.builtin.setup", "-a", WITHOUT_FACTS)),
    ),
    "healing": Measure(
        "right answers after vLLM is killed",
        Side("killed", killed, calm),
        Side("started anew", started_anew, calm),
    ),
}
