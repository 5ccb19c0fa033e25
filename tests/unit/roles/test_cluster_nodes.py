# SPDX-FileCopyrightText: The Samewire authors
# SPDX-License-Identifier: Apache-2.0
"""What the container decides from the nodes that Ray names."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import socket
import subprocess
import sys
import types
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import pytest

from tests.unit.waiting import until

SCRIPT = pathlib.Path(__file__).parents[3] / "roles/ray_node/files/node/cluster_nodes.py"


@pytest.fixture(scope="module")
def script() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("cluster_nodes", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def node(address: str, gpus: float | None, alive: bool = True) -> dict[str, Any]:
    resources = {"CPU": 2.0, f"node:{address}": 1.0} | ({} if gpus is None else {"GPU": gpus})
    return {"NodeManagerAddress": address, "Alive": alive, "Resources": resources}


def test_only_nodes_that_are_alive_count(script: types.ModuleType) -> None:
    nodes = [node("10.0.0.1", 1.0), node("10.0.0.2", None), node("10.0.0.2", 4.0, alive=False)]
    assert script.alive(nodes) == {"10.0.0.1": 1, "10.0.0.2": 0}


def test_expected_addresses_may_hold_colons(script: types.ModuleType) -> None:
    assert script.parse_expected("fd00::1=1,10.0.0.2=8") == {"fd00::1": 1, "10.0.0.2": 8}


@pytest.mark.parametrize(
    ("got", "clauses"),
    [
        ({"a": 1, "b": 1}, []),
        ({"a": 1}, ["b has not joined"]),
        ({"a": 1, "b": 0}, ["b has 0 GPUs, expected 1"]),
        ({"a": 1, "b": 1, "c": 1}, ["c is not in the plan"]),
        ({"c": 1}, ["a has not joined", "b has not joined", "c is not in the plan"]),
    ],
)
def test_differences(script: types.ModuleType, got: dict[str, int], clauses: list[str]) -> None:
    nodes = [node(address, gpus) for address, gpus in got.items()]
    assert script.differences({"a": 1, "b": 1}, nodes) == clauses


def test_a_node_that_vllm_cannot_ask_for_by_address(script: types.ModuleType) -> None:
    nodes = [node("fd00::1", 1), node("fd00::2", 1)]
    del nodes[1]["Resources"]["node:fd00::2"]
    expected = {"fd00::1": 1, "fd00::2": 1}
    assert script.differences(expected, nodes) == ["fd00::2 has no resource node:fd00::2"]


class Head:
    """A head as the client of its GCS sees it, with a node that is dead; in the forms of Ray 2.40 to 2.60."""

    nodes = (node("10.0.0.1", 1.0), node("10.0.0.2", None), node("10.0.0.3", 1.0, alive=False))

    def __init__(self, address: str) -> None:
        assert address == os.environ["RAY_ADDRESS"]

    def get_all_node_info(self, timeout: float) -> dict[bytes, types.SimpleNamespace]:
        return {
            each["NodeManagerAddress"].encode(): types.SimpleNamespace(
                node_manager_address=each["NodeManagerAddress"],
                state=0 if each["Alive"] else 1,
                resources_total=each["Resources"] if each["Alive"] else {},
            )
            for each in self.nodes
        }


class RayError(Exception):
    """As the base of what Ray raises."""


class Mute:
    """A client of a GCS that takes connections and does not answer."""

    def __init__(self, address: str) -> None:
        raise RayError("Timed out while waiting for GCS to become available.\nmore")


class Other:
    """A client of a release that has changed its form."""

    def __init__(self, channel: str) -> None:
        """Take something else."""


class Ray:
    """Stands for the package of Ray; `drivers` is how many drivers were started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.drivers = 0
        nodes = [node("10.0.0.1", 1.0), node("10.0.0.2", None)]
        self._patch = monkeypatch
        self._ray = types.SimpleNamespace(
            __version__="2.55.0",
            exceptions=types.SimpleNamespace(RayError=RayError),
            init=self._init,
            is_initialized=lambda: self.drivers > 0,
            nodes=lambda: nodes,
            shutdown=lambda: None,
        )
        # The script sets it for its own process.
        monkeypatch.setenv("RAY_py_gcs_connect_timeout_s", "5")

    def _init(self, **_: object) -> None:
        self.drivers += 1

    def offers(self, client: type | None) -> None:
        """Let the package have a client of the GCS, or None."""
        states = types.SimpleNamespace(GcsNodeInfo=types.SimpleNamespace(ALIVE=0, DEAD=1))
        for name, content in {
            "ray": self._ray,
            "ray._raylet": types.SimpleNamespace(GcsClient=client) if client else None,
            "ray.core.generated.gcs_pb2": states,
        }.items():
            self._patch.setitem(sys.modules, name, content)


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Ray:
    return Ray(monkeypatch)


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Yield the port at which the head is looked for, and at which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        number = int(server.getsockname()[1])
        monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{number}")
        yield number


@pytest.fixture
def closed(port: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return the port at which the head is looked for, and at which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = int(free.getsockname()[1])
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{number}")
    return number


@pytest.mark.parametrize(("client", "drivers"), [(Head, 0), (None, 1), (Other, 1)])
@pytest.mark.usefixtures("port")
def test_the_head_is_asked_and_else_a_driver(
    script: types.ModuleType, ray: Ray, client: type | None, drivers: int
) -> None:
    ray.offers(client)
    listing = script.listing()
    assert listing.pop("python").startswith("3.")
    assert listing == {"nodes": {"10.0.0.1": 1, "10.0.0.2": 0}, "ray": "2.55.0"}
    assert ray.drivers == drivers


def test_a_head_that_is_mute_needs_no_driver(script: types.ModuleType, ray: Ray, port: int) -> None:
    ray.offers(Mute)
    with pytest.raises(script.NoHead) as problem:
        script.listing()
    assert str(problem.value) == (
        f"no Ray head answers at 127.0.0.1:{port} after 0 s (Timed out while waiting for GCS to become "
        "available.); look at the log of the Ray container on the head"
    )
    assert ray.drivers == 0


def test_a_head_that_is_gone_is_told_at_once(
    script: types.ModuleType, ray: Ray, closed: int
) -> None:
    ray.offers(Mute)
    with pytest.raises(script.NoHead) as problem:
        script.listing()
    assert str(problem.value) == (
        f"no Ray head answers at 127.0.0.1:{closed} after 0 s ([Errno 111] Connection refused); look at "
        "the log of the Ray container on the head"
    )


class Joining(Head):
    """A head of which a worker is to join; each client sees one step more."""

    steps: ClassVar[list[Sequence[dict[str, Any]]]] = []

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.nodes = tuple(self.steps.pop(0) if len(self.steps) > 1 else self.steps[0])


EXPECTED = {"10.0.0.1": 1, "10.0.0.2": 1}
BOTH = (node("10.0.0.1", 1.0), node("10.0.0.2", 1.0))


@pytest.mark.usefixtures("port")
def test_the_planned_nodes_are_waited_for(
    script: types.ModuleType, ray: Ray, capsys: pytest.CaptureFixture[str]
) -> None:
    ray.offers(Joining)
    Joining.steps = [(), BOTH[:1], BOTH[:1], BOTH]
    script.wait(EXPECTED, 20)
    waiting = "samewire: waiting for the planned nodes:"
    assert capsys.readouterr().out.splitlines() == [
        f"{waiting} 10.0.0.1 has not joined; 10.0.0.2 has not joined",
        f"{waiting} 10.0.0.2 has not joined",
    ]
    assert ray.drivers == 0


@pytest.mark.usefixtures("port")
def test_whoever_waits_needs_one_driver_at_most(script: types.ModuleType, ray: Ray) -> None:
    ray.offers(None)
    with pytest.raises(script.Unplanned):
        script.wait(EXPECTED, 1)
    assert ray.drivers == 1


def test_a_head_that_is_to_come_is_waited_for(
    script: types.ModuleType, ray: Ray, closed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    ray.offers(Joining)
    Joining.steps = [BOTH]
    with ThreadPoolExecutor() as pool:
        waited = pool.submit(script.wait, EXPECTED, 20)
        said: list[str] = []
        until(lambda: said.append(capsys.readouterr().out) or any(said), 10)
        with socket.create_server(("127.0.0.1", closed)):
            waited.result(10)
    assert "".join(said).splitlines() == [
        f"samewire: waiting for the planned nodes: no Ray head answers at 127.0.0.1:{closed}"
    ]


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        (BOTH[:1], "10.0.0.2 has not joined"),
        # As many as planned: nobody else is to come.
        ((BOTH[0], node("10.0.0.9", 1.0)), "10.0.0.2 has not joined; 10.0.0.9 is not in the plan"),
    ],
)
@pytest.mark.usefixtures("port")
def test_other_nodes_are_refused(
    script: types.ModuleType,
    ray: Ray,
    monkeypatch: pytest.MonkeyPatch,
    steps: Sequence[dict[str, Any]],
    problem: str,
) -> None:
    ray.offers(Joining)
    Joining.steps = [steps]
    monkeypatch.setattr(script, "_SETTLED", 0.5)
    with pytest.raises(script.Unplanned) as refused:
        script.wait(EXPECTED, 1)
    assert str(refused.value) == (
        f"the nodes of Ray are not the planned ones after 1 s: {problem}; look at the logs of the Ray "
        "containers"
    )


def test_usage_without_a_command() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
